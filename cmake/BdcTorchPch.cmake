# bdc_torch_pch: one precompiled torch/nn.h for every target that touches tensors. What is glue around LibTorch compiles
# with -O1: half the build time, and none of the running time, which is inside LibTorch.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/torch_pch.cpp" CONTENT "// Holds the precompiled header.\n")
add_library(bdc_torch_pch STATIC "${PROJECT_BINARY_DIR}/torch_pch.cpp")
target_link_libraries(bdc_torch_pch PUBLIC bdc::torch PRIVATE bdc_warnings)
target_compile_options(bdc_torch_pch PUBLIC $<$<CONFIG:Release>:-O1>)
target_precompile_headers(bdc_torch_pch PRIVATE <torch/nn.h> <torch/utils.h>)
