# Packages for the Debian that this is built on (./run package): bdc, everything that works on labels; bdc-engine,
# training and the detectors; libbdc-dev, headers and the CMake package for plugins of one's own.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bdc)
set(CPACK_PACKAGE_VENDOR "bdc")
set(CPACK_PACKAGE_CONTACT "bdc maintainers")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENTS_ALL tools dev)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME bdc)
string(CONCAT CPACK_COMPONENT_TOOLS_DESCRIPTION "consensus of crowdsourced bounding boxes\n"
  "Learns what errors each annotator makes and turns many labels into one consensus;\n"
  "reads, checks, converts and evaluates labels. Needs no LibTorch.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS bash-completion)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libbdc-dev)
string(CONCAT CPACK_COMPONENT_DEV_DESCRIPTION "consensus of crowdsourced bounding boxes: headers\n"
  "The library bdc::core, and what detector and hook plugins are built with.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "nlohmann-json3-dev, libpugixml-dev, libyaml-cpp-dev, libzip-dev")

if(BDC_BUILD_ENGINE)
  list(APPEND CPACK_COMPONENTS_ALL engine)
  set(CPACK_DEBIAN_ENGINE_PACKAGE_NAME bdc-engine)
  string(CONCAT CPACK_COMPONENT_ENGINE_DESCRIPTION "detectors that train on crowdsourced bounding boxes\n"
    "The training engine of bdc-host and its detectors: YOLOv7, Faster R-CNN and EVA-02.")
  # TorchVision's operators lie in its Python package, where dpkg-shlibdeps finds no library and gives up. So the engine's
  # packages are named; the names of these are the same in every Debian.
  set(CPACK_DEBIAN_ENGINE_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_ENGINE_PACKAGE_DEPENDS
    "bdc (= ${PROJECT_VERSION}), python3-torchvision, libtorch-dev | libtorch-cuda-dev, libopencv-dev")
  set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "bdc-engine (= ${PROJECT_VERSION}), libtorch-dev")
endif()
include(CPack)
