# Target bdc::torchvision_ops: the library with TorchVision's C++ operators (header: bdc/plugin/torchvision_ops.h).
# Taken from find_package(TorchVision) where there is one, else from the operator library inside Debian's
# python3-torchvision, which needs LibTorch but no Python. -DBDC_TORCHVISION_LIBRARY=/path/to/file names one outright.
if(NOT TARGET bdc::torchvision_ops)
  add_library(bdc::torchvision_ops INTERFACE IMPORTED GLOBAL)
  if(NOT BDC_TORCHVISION_LIBRARY)
    find_package(TorchVision QUIET)
  endif()
  if(TARGET TorchVision::TorchVision)
    set_property(TARGET bdc::torchvision_ops PROPERTY INTERFACE_LINK_LIBRARIES TorchVision::TorchVision)
  else()
    if(NOT BDC_TORCHVISION_LIBRARY)
      file(GLOB _bdc_torchvision_files /usr/lib/python3/dist-packages/torchvision/_C.cpython-*.so)
      list(LENGTH _bdc_torchvision_files _bdc_torchvision_count)
      if(NOT _bdc_torchvision_count EQUAL 1)
        message(FATAL_ERROR "TorchVision's operators were not found: no CMake package TorchVision, and "
          "${_bdc_torchvision_count} files /usr/lib/python3/dist-packages/torchvision/_C.cpython-*.so where one is "
          "expected. Install python3-torchvision, add a TorchVision to CMAKE_PREFIX_PATH, or name the library with "
          "-DBDC_TORCHVISION_LIBRARY=FILE.")
      endif()
      set(BDC_TORCHVISION_LIBRARY "${_bdc_torchvision_files}")
    endif()
    if(NOT EXISTS "${BDC_TORCHVISION_LIBRARY}")
      message(FATAL_ERROR "BDC_TORCHVISION_LIBRARY: there is no file ${BDC_TORCHVISION_LIBRARY}")
    endif()
    # The file has no soname, so what links it remembers its full path.
    add_library(bdc_torchvision_library SHARED IMPORTED GLOBAL)
    set_property(TARGET bdc_torchvision_library PROPERTY IMPORTED_LOCATION "${BDC_TORCHVISION_LIBRARY}")
    set_property(TARGET bdc::torchvision_ops PROPERTY INTERFACE_LINK_LIBRARIES bdc_torchvision_library)
  endif()
endif()
