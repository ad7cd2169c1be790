#pragma once

/// The page's style sheet and script, from report/assets (put into the program when it is built).
namespace bdc::host {

extern const char* const kReportStyle;
extern const char* const kReportScript;
extern const char* const kSettleScript;  ///< of the section where places are settled

}  // namespace bdc::host
