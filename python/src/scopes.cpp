// Scopes of a thread: what its `with` statements hold, and the layers whose calls it is in.
#include <algorithm>
#include <functional>
#include <memory>

#include "callbacks.h"
#include "errors.h"
#include "module.h"
#include "python_object.h"

namespace asyncgrad::python {

namespace {

// The context manager of a `with` statement. Its methods are functions of C, between which and the statement's body no
// handler of a signal runs: Ctrl-C cannot leave a scope behind.
class ScopeOfWith {
 public:
  using Begin = std::function<std::shared_ptr<void>()>;
  explicit ScopeOfWith(Begin begin) : begin_(std::move(begin)) {}

  void enter() const;
  void exit() const;

 private:
  Begin begin_;
};

struct Entered {
  const ScopeOfWith* owner;
  ScopeOfWith::Begin begin;
  std::shared_ptr<void> scope;
};
thread_local std::vector<Entered> entered;

void ScopeOfWith::enter() const { entered.push_back({this, begin_, begin_()}); }

// The library's scopes end in the reverse order of their beginning; generators of Python may end theirs in any order.
// So those above this one end, too, and begin again without it.
void ScopeOfWith::exit() const {
  const auto own = std::find_if(entered.rbegin(), entered.rend(), [this](const Entered& e) { return e.owner == this; });
  if (own == entered.rend()) return;
  std::vector<Entered> above;
  while (entered.back().owner != this) {
    entered.back().scope.reset();
    above.push_back(std::move(entered.back()));
    entered.pop_back();
  }
  entered.pop_back();
  while (!above.empty()) {
    above.back().scope = above.back().begin();
    entered.push_back(std::move(above.back()));
    above.pop_back();
  }
}

template <class Scope>
std::shared_ptr<void> begun() {
  return std::make_shared<Scope>();
}

ScopeOfWith::Begin begin_of(const std::string& kind) {
  if (kind == "no_grad") return begun<NoGrad>;
  if (kind == "enable_grad") return begun<EnableGrad>;
  if (kind == "evaluation") return begun<Evaluation>;
  if (kind == "inference") return begun<Inference>;
  if (kind == "detect_nan") return begun<DetectNan>;
  throw_value_error("there is no scope " + kind);
}

// A thread that ends within the scope has no lock of the interpreter.
ScopeOfWith::Begin begin_of(const HeldObject& generator) {
  struct Held {
    explicit Held(const HeldObject& object) : object(object), scope(*nb::cast<Generator*>(object.get())) {}
    HeldObject object;
    GeneratorScope scope;
  };
  return [generator] { return std::make_shared<Held>(generator); };
}
// Within a part of a training in parts.
ScopeOfWith::Begin begin_of_parts(const HeldObject& parts) {
  struct Held {
    explicit Held(const HeldObject& object) : object(object), scope(*nb::cast<dist::Parts*>(object.get())) {}
    HeldObject object;
    dist::Parts::Scope scope;
  };
  return [parts] { return std::make_shared<Held>(parts); };
}

// The call of a layer, whose errors name its path.
nb::object called_in_layer(const char* name, nb::handle function, const nb::tuple& args, const nb::dict& kwargs) {
  const LayerScope scope(name);
  nb::object result = nb::steal(call_python(function, args, kwargs));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

}  // namespace

void bind_scopes(nb::module_& m) {
  nb::class_<ScopeOfWith>(m, "_Scope")
      .def("__init__", [](ScopeOfWith* self, const std::string& kind) { new (self) ScopeOfWith(begin_of(kind)); })
      .def("__init__",
           [](ScopeOfWith* self, nb::handle object) {
             const HeldObject held(nb::borrow(object));
             new (self) ScopeOfWith(nb::isinstance<dist::Parts>(object) ? begin_of_parts(held) : begin_of(held));
           })
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<const ScopeOfWith&>(self).enter();
             return nb::borrow(self);
           })
      .def("__exit__", [](const ScopeOfWith& self, const nb::args&) { self.exit(); });
  m.def("_called_in_layer", &called_in_layer);
  m.def("grad_enabled", &grad_enabled, "False within no_grad(), and True within enable_grad().");
  m.def("is_training", &is_training, "False within evaluation(): dropout keeps everything, statistics are fixed.");
}

}  // namespace asyncgrad::python
