# Installed: bdc-host, its engine, the plugins, the headers, the core library, and a CMake package:
#   find_package(bdc) -> bdc::core, bdc::plugin_api, bdc_add_detector_plugin, bdc_add_hook_plugin,
#                       and, after include(BdcTorchVision), bdc::torchvision_ops
# With BDC_BUILD_HOST=OFF: bdc::core alone; with BDC_BUILD_ENGINE=OFF: bdc::core and bdc-host.
# Components, which become packages (BdcPackage.cmake): tools, engine, dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/bdc")
install(TARGETS bdc_core bdc_base bdc_crowd bdc_metrics bdc_learn EXPORT bdcTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
install(DIRECTORY bdc_core/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
if(BDC_BUILD_HOST)
  if(BDC_BUILD_ENGINE)
    install(TARGETS bdc_plugin_headers bdc_plugin_api EXPORT bdcTargets)
    install(DIRECTORY plugin_api/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
    install(FILES plugin_api/cmake/BdcTorch.cmake plugin_api/cmake/BdcTorchVision.cmake
            plugin_api/cmake/BdcPlugin.cmake plugin_api/cmake/plugin.map
            DESTINATION "${package_folder}" COMPONENT dev)
    install(TARGETS bdc-engine LIBRARY DESTINATION lib/bdc COMPONENT engine)
  endif()
  install(TARGETS bdc-host RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  install(FILES "${PROJECT_BINARY_DIR}/registry.installed.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/bdc"
          RENAME registry.json COMPONENT tools)
  install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/bdc" COMPONENT tools)
  include(BdcManual)
endif()
install(EXPORT bdcTargets NAMESPACE bdc:: DESTINATION "${package_folder}" COMPONENT dev)
configure_package_config_file(cmake/bdcConfig.cmake.in "${PROJECT_BINARY_DIR}/bdcConfig.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/bdcConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/bdcConfig.cmake" "${PROJECT_BINARY_DIR}/bdcConfigVersion.cmake" cmake/BdcZip.cmake
        DESTINATION "${package_folder}" COMPONENT dev)
include(BdcPackage)
