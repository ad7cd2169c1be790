# Target bdc::torch: LibTorch as found by find_package(Torch) (point CMAKE_PREFIX_PATH at one of your own), with its
# headers as SYSTEM, its compile flags, and BDC_TORCH_DEVICE saying which kind of build it is. Used by this project's
# build and by the installed package, so both make the same fingerprint.
if(NOT TARGET bdc::torch)
  find_package(Torch REQUIRED)
  add_library(bdc::torch INTERFACE IMPORTED GLOBAL)
  separate_arguments(_bdc_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
  set_target_properties(bdc::torch PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}"
    INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}"
    INTERFACE_COMPILE_OPTIONS "${_bdc_torch_flags}"
    INTERFACE_LINK_LIBRARIES "${TORCH_LIBRARIES}")
  if(TORCH_CUDA_LIBRARIES OR TARGET torch_cuda)
    set(BDC_TORCH_DEVICE "cuda")
  else()
    set(BDC_TORCH_DEVICE "cpu")
  endif()
  set_property(TARGET bdc::torch PROPERTY INTERFACE_COMPILE_DEFINITIONS "BDC_TORCH_DEVICE=\"${BDC_TORCH_DEVICE}\"")
endif()
