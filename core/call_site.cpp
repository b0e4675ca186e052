#include "asyncgrad/core/call_site.h"

#include <algorithm>
#include <string_view>

namespace asyncgrad {

namespace {

// Whether the file belongs to the library itself, where operations call others.
bool is_own(std::string_view file) {
  constexpr std::string_view here = __FILE__, own_name = "core/call_site.cpp";
  constexpr std::string_view root = here.substr(0, here.size() - own_name.size());
  if (file.find("include/asyncgrad/") != std::string_view::npos) return true;  // a public header
  if (!file.starts_with(root)) return false;
  file.remove_prefix(root.size());
  constexpr std::string_view folders[] = {"core/", "autograd/", "nn/", "optim/", "data/", "dist/", "python/src/"};
  return std::ranges::any_of(folders, [&](std::string_view folder) { return file.starts_with(folder); });
}

}  // namespace

Location CallSite::current() {
  for (const CallSite* site = innermost; site != nullptr; site = site->outer_) {
    if (site->where_.file != nullptr && !is_own(site->where_.file)) return site->where_;
  }
  return {};
}

}  // namespace asyncgrad
