// Does not compile with any of these macros, each of which makes another mistake.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  double lr = 0.1;
#if defined(REFUSED_PrivateOptions)
 private:
  void options(ag::experiment::Options& o) { o("lr", lr, "Learning rate"); }
#elif defined(REFUSED_OptionsByValue)
  void options(ag::experiment::Options o) { o("lr", lr, "Learning rate"); }
#endif
};

#if defined(REFUSED_MakeOfNothing)
void make(const Settings&) {}
#elif defined(REFUSED_SettingsToChange)
ag::nn::Dense make(Settings&) { return {2, 1}; }
#else
ag::nn::Dense make(const Settings&) { return {2, 1}; }
#endif
ag::Tensor step(const ag::nn::Dense& net) { return ag::sum(net(ag::ones({1, 2}))); }

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step); }
