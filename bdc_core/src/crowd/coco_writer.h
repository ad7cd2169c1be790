#pragma once

#include "bdc/base/json_stream.h"
#include "bdc/crowd/crowd_data.h"

namespace bdc {

// Members of a COCO object, each written with its key into the object that is open.
void write_coco_images(JsonWriter& json, const CrowdData& data);
void write_coco_categories(JsonWriter& json, const CrowdData& data);
void write_coco_annotations(JsonWriter& json, const CrowdData& data, bool with_annotator);
void write_coco_truth_boxes(JsonWriter& json, const CrowdData& data, const char* key);

}  // namespace bdc
