#include <bdc/plugin/export.h>

#include "yolov7/detector.h"

BDC_EXPORT_DETECTOR(yolov7::Detector);
