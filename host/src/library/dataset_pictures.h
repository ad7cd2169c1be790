#pragma once

#include <memory>

#include "bdc/crowd/crowd_data.h"
#include "data/dataset.h"
#include "engine_api/pictures.h"

namespace bdc::host {

/// The images of a data set as pictures of a crowd: image i of the crowd is the one with its id, which may stand
/// elsewhere in the data set or be missing there.
[[nodiscard]] std::shared_ptr<const Pictures> pictures_of(const CrowdData& crowd, std::shared_ptr<const Dataset> data);

}  // namespace bdc::host
