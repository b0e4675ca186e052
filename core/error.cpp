#include "asyncgrad/core/error.h"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/noted_error.h"
#include "asyncgrad/core/origin/origin.h"

namespace asyncgrad {

const Error::Parts& Error::parts() const {
  static const Parts* const none = new Parts;  // never destroyed: errors are looked at while the process ends
  return parts_ == nullptr ? *none : *parts_;
}

void detail::NotedError::note(const std::string& text) noexcept {
  if (innermost == nullptr) return;
  try {
    innermost->text_ = text;
  } catch (const std::exception&) {  // there is no memory for it
    innermost->text_.clear();
  }
}

void throw_error(std::string_view operation, std::string_view what, ErrorKind kind) {
  auto parts = std::make_shared<Error::Parts>();
  parts->operation = operation;
  parts->message = what;
  parts->cause = kind;
  // An operation that fails names its own line, layer and graph; the thread that computes it may be in others.
  if (detail::InOperation::is_here()) throw Error(fmt::format("[{}] {}", operation, what), kind, std::move(parts));
  const Location where = CallSite::current();
  if (where.file != nullptr) parts->file = where.file;
  parts->line = where.line;
  parts->layer = detail::layer_path_name(detail::current_layer_path());
  const std::string text = fmt::format("[{}] {}{}", operation, what, detail::current_place());
  detail::NotedError::note(text);
  throw Error(text, kind, std::move(parts));
}

}  // namespace asyncgrad
