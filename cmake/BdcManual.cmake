# The manual page and the shell completion, which the program writes from the same tables as its --help.
foreach(kind manual completion)
  set(file "${PROJECT_BINARY_DIR}/manual/bdc-host.${kind}")
  add_custom_command(OUTPUT "${file}" COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/manual"
    COMMAND bdc-host --${kind} > "${file}.new" COMMAND ${CMAKE_COMMAND} -E rename "${file}.new" "${file}"
    DEPENDS bdc-host VERBATIM)
  list(APPEND manual_files "${file}")
endforeach()
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/manual/bdc-host.1.gz"
  COMMAND gzip -9nc "${PROJECT_BINARY_DIR}/manual/bdc-host.manual" > "${PROJECT_BINARY_DIR}/manual/bdc-host.1.gz"
  DEPENDS "${PROJECT_BINARY_DIR}/manual/bdc-host.manual" VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual_files} "${PROJECT_BINARY_DIR}/manual/bdc-host.1.gz")
if(TARGET programs)
  add_dependencies(programs manual)
endif()
install(FILES "${PROJECT_BINARY_DIR}/manual/bdc-host.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
install(FILES "${PROJECT_BINARY_DIR}/manual/bdc-host.completion" RENAME bdc-host
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tools)
