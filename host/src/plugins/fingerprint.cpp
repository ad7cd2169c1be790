#include "plugins/fingerprint.h"

#include <bdc/plugin/abi.h>

#include <map>
#include <stdexcept>

#include "bdc/base/text.h"

namespace bdc::host {
namespace {

int small_number(const std::string& digits) {
  if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos) {
    throw std::invalid_argument("'" + printable(digits, 20) + "' is not a version number");
  }
  return std::stoi(digits);
}

}  // namespace

Fingerprint Fingerprint::parse(const std::string& text) {
  std::map<std::string, std::string> fields;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find(';', from), text.size());
    const std::string field = text.substr(from, end - from);
    const auto equals = field.find('=');
    if (equals != std::string::npos) fields[field.substr(0, equals)] = printable(field.substr(equals + 1), 60);
    from = end + 1;
  }
  const auto need = [&](const char* key) {
    const auto it = fields.find(key);
    if (it == fields.end()) throw std::invalid_argument(std::string("has no '") + key + "' entry");
    return it->second;
  };
  Fingerprint out;
  const std::string api = need("api");
  const auto dot = api.find('.');
  if (dot == std::string::npos) throw std::invalid_argument("'" + api + "' is not an API version");
  out.api_major = small_number(api.substr(0, dot));
  out.api_minor = small_number(api.substr(dot + 1));
  out.torch = need("torch");
  out.cxx11_abi = need("cxx11abi");
  out.stdlib = need("stdlib");
  out.compiler = need("compiler");
  out.device = need("device");
  return out;
}

const Fingerprint& Fingerprint::of_host() {
  static const Fingerprint own = parse(BDC_ABI_FINGERPRINT);
  return own;
}

std::string Fingerprint::text() const {
  return "API " + std::to_string(api_major) + "." + std::to_string(api_minor) + ", LibTorch " + torch + " (" + device +
         "), " + compiler + ", " + stdlib + ", C++11 ABI " + cxx11_abi;
}

std::string mismatch(const Fingerprint& host, const Fingerprint& plugin) {
  if (!host.has_torch()) {
    return "this host was built without the training engine, so it can run no plugin\n  advice: build it with "
           "-DBDC_BUILD_ENGINE=ON\n  plugin: " +
           plugin.text();
  }
  std::string reason;
  if (plugin.api_major != host.api_major) {
    const bool is_older = plugin.api_major < host.api_major;
    reason = "it was built for plugin API " + std::to_string(plugin.api_major) + ", this host speaks API " +
             std::to_string(host.api_major) +
             "\n  advice: build the plugin again with the headers of this host's version "
             "(find_package(bdc))" +
             (is_older ? "; docs/plugins.md says what changed" : "");
  } else if (plugin.api_minor > host.api_minor) {
    reason = "it needs plugin API " + std::to_string(plugin.api_major) + "." + std::to_string(plugin.api_minor) +
             ", newer than this host's " + std::to_string(host.api_major) + "." + std::to_string(host.api_minor) +
             "\n  advice: update bdc-host, or build the plugin with this host's headers";
  } else if (plugin.torch != host.torch || plugin.device != host.device) {
    reason = "it was built with LibTorch " + plugin.torch + " (" + plugin.device + "), this host runs LibTorch " +
             host.torch + " (" + host.device +
             ")\n  advice: build the plugin again with CMAKE_PREFIX_PATH pointing at this host's LibTorch";
  } else if (plugin.stdlib != host.stdlib || plugin.cxx11_abi != host.cxx11_abi) {
    reason = "it uses a different C++ standard library or string ABI than this host" +
             std::string("\n  advice: build the plugin with ") + host.stdlib +
             " and -D_GLIBCXX_USE_CXX11_ABI=" + host.cxx11_abi;
  }
  if (reason.empty()) return "";
  return reason + "\n  host:   " + host.text() + "\n  plugin: " + plugin.text();
}

}  // namespace bdc::host
