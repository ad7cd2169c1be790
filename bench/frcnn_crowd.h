#pragma once

/// Whole training steps of the small Faster R-CNN of configs/ (a slim ResNet-18, eight images of 160 pixels) with the
/// hook crowd_rcnn, once with a crowd of 10 annotators and once with one of 1,000, who made the same number of
/// annotations. The two take turns; prints the best and the median of `steps` steps each, the hook's own part, and what
/// the end of an epoch costs.
void crowd_steps(int steps);
