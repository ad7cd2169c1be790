"""torchvision's Faster R-CNN on soft classes and weights.

    learner = bdc.Learner(crowd)
    model = soften(fasterrcnn_resnet50_fpn(num_classes=1 + crowd.num_classes))
    for epoch in range(epochs):
        for images, ids in loader:                   # as the annotators saw them: not flipped, cut or resized
            losses = model(images, targets(model, learner, images, ids, warm=epoch < 1))
            ...
        learner.finish_epoch()

Class 0 is background, as torchvision has it; the crowd's class 0 is label 1.
"""
import types

import numpy as np
import torch
import torch.nn.functional as F
from torchvision.models.detection.roi_heads import RoIHeads
from torchvision.models.detection.rpn import RegionProposalNetwork
from torchvision.ops import boxes as box_ops

from .._core import DataError

BETA = 1 / 9  # torchvision's, of the smooth L1 loss


def soften(model):
    """Gives the model losses that use `class_probs` and `weights` of its targets. Without these keys they are torchvision's
    own, and so is everything in eval mode. Returns the model."""
    if not isinstance(getattr(model, "rpn", None), RegionProposalNetwork) or type(getattr(model, "roi_heads", None)) is not RoIHeads:
        raise DataError(f"expected torchvision's Faster R-CNN, found {type(model).__name__}")
    if model.roi_heads.has_mask() or model.roi_heads.has_keypoint():
        raise DataError("expected a Faster R-CNN without masks and keypoints")
    model.roi_heads.forward = types.MethodType(_roi_forward, model.roi_heads)
    model.rpn.assign_targets_to_anchors = types.MethodType(_assign_with_weights, model.rpn)
    model.rpn.compute_loss = types.MethodType(_weighted_rpn_loss, model.rpn)
    return model


def _is_soft(targets):
    has = ["class_probs" in t and "weights" in t for t in targets or ()]
    if any(has) and not all(has):
        raise DataError("targets: expected class_probs and weights in all of them or in none")
    return bool(has) and all(has)


def _roi_forward(heads, features, proposals, image_shapes, targets=None):
    if not heads.training or not _is_soft(targets):
        return RoIHeads.forward(heads, features, proposals, image_shapes, targets)
    proposals, matched, labels, codes = heads.select_training_samples(proposals, targets)
    logits, deltas = heads.box_predictor(heads.box_head(heads.box_roi_pool(features, proposals, image_shapes)))
    label = torch.cat(labels)
    wanted = F.one_hot(torch.zeros_like(label), logits.shape[1]).to(logits.dtype)  # background, unless
    weight = torch.ones_like(label, dtype=logits.dtype)
    start = 0
    for target, match, own in zip(targets, matched, labels):
        rows = torch.where(own > 0)[0]
        probs = target["class_probs"].to(logits)[match[rows]]
        wanted[start + rows] = torch.cat([torch.zeros_like(probs[:, :1]), probs], dim=1)
        weight[start + rows] = target["weights"].to(logits)[match[rows]]
        start += len(own)
    share = 1 / max(1, len(label))
    classifier = (weight * -(wanted * F.log_softmax(logits, dim=1)).sum(1)).sum() * share
    rows = torch.where(label > 0)[0]
    own = deltas.reshape(len(label), -1, 4)[rows, wanted[rows].argmax(1)]
    regression = F.smooth_l1_loss(own, torch.cat(codes)[rows], beta=BETA, reduction="none").sum(1)
    return [], {"loss_classifier": classifier, "loss_box_reg": (weight[rows] * regression).sum() * share}


def _assign_with_weights(rpn, anchors, targets):
    out = RegionProposalNetwork.assign_targets_to_anchors(rpn, anchors, targets)
    rpn._bdc_weights = None
    if _is_soft(targets):
        weights = []
        for here, target in zip(anchors, targets):
            own = torch.ones(len(here), dtype=here.dtype, device=here.device)
            if len(target["boxes"]):
                match = rpn.proposal_matcher(rpn.box_similarity(target["boxes"], here))
                own = torch.where(match >= 0, target["weights"].to(here)[match.clamp(min=0)], own)
            weights.append(own)
        rpn._bdc_weights = torch.cat(weights)
    return out


def _weighted_rpn_loss(rpn, objectness, deltas, labels, codes):
    if rpn._bdc_weights is None:
        return RegionProposalNetwork.compute_loss(rpn, objectness, deltas, labels, codes)
    positive, negative = (torch.where(torch.cat(mask))[0] for mask in rpn.fg_bg_sampler(labels))
    sampled = torch.cat([positive, negative])
    weight, label, share = rpn._bdc_weights, torch.cat(labels), 1 / max(1, len(sampled))
    regression = F.smooth_l1_loss(deltas[positive], torch.cat(codes)[positive], beta=BETA, reduction="none").sum(1)
    entropy = F.binary_cross_entropy_with_logits(objectness.flatten()[sampled], label[sampled], reduction="none")
    return (weight[sampled] * entropy).sum() * share, (weight[positive] * regression).sum() * share


@torch.no_grad()
def detect(model, images, min_score=0.1, nms_iou=0.6, max_per_image=100):
    """What the detector sees, for the consensus: per image boxes, scores and class probabilities without background, one
    box per region, of its likeliest class. The model's own mode is kept."""
    training = model.training
    model.eval()
    try:
        sizes = [tuple(image.shape[-2:]) for image in images]
        scaled, _ = model.transform(list(images))
        features = model.backbone(scaled.tensors)
        features = {"0": features} if isinstance(features, torch.Tensor) else features
        proposals, _ = model.rpn(scaled, features)
        heads = model.roi_heads
        logits, deltas = heads.box_predictor(heads.box_head(heads.box_roi_pool(features, proposals, scaled.image_sizes)))
        boxes = heads.box_coder.decode(deltas, proposals)
        counts = [len(p) for p in proposals]
        found = []
        for logit, box, shape in zip(logits.split(counts), boxes.split(counts), scaled.image_sizes):
            score, best = F.softmax(logit, dim=1)[:, 1:].max(dim=1)
            box = box_ops.clip_boxes_to_image(box[torch.arange(len(box)), best + 1], shape)
            keep = torch.where(score >= min_score)[0]
            keep = keep[box_ops.remove_small_boxes(box[keep], 1e-2)]
            keep = keep[box_ops.nms(box[keep], score[keep], nms_iou)[:max_per_image]]
            found.append({"boxes": box[keep], "scores": score[keep], "class_probs": F.softmax(logit[keep, 1:], dim=1)})
        found = model.transform.postprocess(found, scaled.image_sizes, sizes)
    finally:
        model.train(training)
    return [(f["boxes"], f["scores"], f["class_probs"]) for f in found]


def as_target(targets, rows=slice(None), device=None):
    """torchvision's dict of one image, with class_probs and weights, from bdc's targets."""
    def tensor(values, dtype):
        return torch.as_tensor(np.array(values[rows]), dtype=dtype, device=device)
    return {"boxes": tensor(targets.boxes, torch.float32).reshape(-1, 4),
            "labels": tensor(targets.label, torch.int64) + 1,
            "class_probs": tensor(targets.class_probs, torch.float32),
            "weights": tensor(targets.weight, torch.float32)}


def targets(model, learner, images, ids, warm=False, **limits):
    """A batch's targets from what the detector sees in it now; `ids`: the crowd's ids or file names of the images. While
    `warm`, they are the annotations' consensus alone, and the detector's skill is learnt meanwhile. limits: of `detect`."""
    ids = [each.item() if hasattr(each, "item") else each for each in ids]
    if len(ids) != len(images):
        raise DataError(f"ids: expected {len(images)}, one per image, found {len(ids)}")
    out = []
    for image, name, (boxes, scores, probs) in zip(images, ids, detect(model, images, **limits)):
        seen = learner.observe(name, boxes, scores, probs)
        if warm:
            alone = learner.without_detector()
            out.append(as_target(alone, alone.rows_of(name), image.device))
        else:
            out.append(as_target(seen, device=image.device))
    return out
