// The members of Python's Modules, listed as the library's layers list theirs: what follows from them (paths,
// parameters, summaries, copies on devices, files) is then the library's.
#pragma once

#include <unordered_map>

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

// A Module, a layer of the library, or a list, tuple or dict of members. Lists what it holds. Use it with the
// interpreter's lock, and while the object lives.
class PythonMember {
 public:
  // The members that were found, in the order of the visit.
  struct Found {
    std::unordered_map<const detail::TensorImpl*, nb::object> tensors;  // as Python holds them
    nb::list modules;                                                   // (path, Module)
  };

  explicit PythonMember(nb::handle object, Found* found = nullptr) : object_(nb::borrow(object)), found_(found) {}

  // The name of the class, as of the library's layers: "Sequential", "list".
  std::string layer_kind() const;
  void members(nn::Members& m);

 private:
  void list_module(nn::Members& m);
  void list_items(nn::Members& m);
  // Lists one member, and returns what takes its place, which may be itself.
  nb::object listed(nn::Members& m, const std::string& name, nb::handle value);
  nb::object listed_tensor(nn::Members& m, const std::string& name, nb::handle value);

  nb::object object_;
  Found* found_;
};

bool is_module(nb::handle object);
// A dict to go through while functions of the program run, which may change the dict itself.
inline nb::dict copy_of(const nb::dict& dict) { return nb::steal<nb::dict>(PyDict_Copy(dict.ptr())); }
// All tensors of a Module with their paths.
std::vector<std::pair<std::string, Tensor>> state_of(nb::handle module);

}  // namespace asyncgrad::python
