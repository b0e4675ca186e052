// Prints the cases of every subject.
#include "python/tests/cases/case.h"

int main() {
  cases::layers();
  cases::activations();
  cases::sequence_layers();
  cases::losses();
  cases::initialisers();
  cases::operations();
  cases::optimisers();
  cases::batches();
}
