# bdc::zip: libzip. Found by hand, because the CMake files that distributions ship with it ask for its command line tools, which
# stand in other packages.
if(NOT TARGET bdc::zip)
  find_path(BDC_ZIP_INCLUDE zip.h)
  find_library(BDC_ZIP_LIBRARY zip)
  mark_as_advanced(BDC_ZIP_INCLUDE BDC_ZIP_LIBRARY)
  if(NOT BDC_ZIP_INCLUDE OR NOT BDC_ZIP_LIBRARY)
    message(FATAL_ERROR "libzip is not found; on Debian it is the package libzip-dev")
  endif()
  add_library(bdc::zip UNKNOWN IMPORTED)
  set_target_properties(bdc::zip PROPERTIES IMPORTED_LOCATION "${BDC_ZIP_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${BDC_ZIP_INCLUDE}")
endif()
