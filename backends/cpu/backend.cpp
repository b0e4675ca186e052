#include "asyncgrad/core/backend/backend.h"

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/processor.h"

namespace asyncgrad::detail {

const Backend* make_cpu_backend();  // called by make_backend.cpp

namespace {

namespace k = cpu_kernels;

constexpr auto kernels = kernel_table(
    KernelRow{Op::fill, &k::fill}, KernelRow{Op::arange, &k::arange}, KernelRow{Op::uniform, &k::uniform},
    KernelRow{Op::normal, &k::normal}, KernelRow{Op::randint, &k::randint}, KernelRow{Op::permutation, &k::permutation},
    KernelRow{Op::copy, &k::copy}, by_formula(), KernelRow{Op::matmul, &k::matmul}, KernelRow{Op::dense, &k::dense},
    KernelRow{Op::dense_grad, &k::dense_grad}, KernelRow{Op::sum, &k::sum}, KernelRow{Op::sum_parts, &k::sum_parts},
    KernelRow{Op::sum_of_parts, &k::sum_of_parts}, KernelRow{Op::prod, &k::prod},
    KernelRow{Op::prod_parts, &k::prod_parts}, KernelRow{Op::prod_of_parts, &k::prod_of_parts},
    KernelRow{Op::prod_grad, &k::prod_grad}, KernelRow{Op::max, &k::max}, KernelRow{Op::min, &k::min},
    KernelRow{Op::any, &k::any}, KernelRow{Op::all, &k::all}, KernelRow{Op::max_grad, &k::max_grad},
    KernelRow{Op::argmax, &k::argmax}, KernelRow{Op::argmin, &k::argmin}, KernelRow{Op::argsort, &k::argsort},
    KernelRow{Op::cumsum, &k::cumsum}, KernelRow{Op::softmax, &k::softmax},
    KernelRow{Op::softmax_grad, &k::softmax_grad}, KernelRow{Op::log_softmax, &k::log_softmax},
    KernelRow{Op::log_softmax_grad, &k::log_softmax_grad}, KernelRow{Op::cross_entropy, &k::cross_entropy},
    KernelRow{Op::cross_entropy_grad, &k::cross_entropy_grad}, KernelRow{Op::ctc, &k::ctc},
    KernelRow{Op::ctc_grad, &k::ctc_grad}, KernelRow{Op::layer_norm, &k::layer_norm},
    KernelRow{Op::layer_norm_grad, &k::layer_norm_grad}, KernelRow{Op::group_norm, &k::group_norm},
    KernelRow{Op::group_norm_grad, &k::group_norm_grad}, KernelRow{Op::batch_norm, &k::batch_norm},
    KernelRow{Op::batch_norm_grad, &k::batch_norm_grad}, KernelRow{Op::conv, &k::conv},
    KernelRow{Op::conv_input, &k::conv_input}, KernelRow{Op::conv_weight, &k::conv_weight},
    KernelRow{Op::max_pool, &k::max_pool}, KernelRow{Op::max_pool_grad, &k::max_pool_grad},
    KernelRow{Op::avg_pool, &k::avg_pool}, KernelRow{Op::avg_pool_grad, &k::avg_pool_grad},
    KernelRow{Op::dropout, &k::dropout}, KernelRow{Op::attention, &k::attention},
    KernelRow{Op::attention_grad, &k::attention_grad}, KernelRow{Op::recurrent_cell, &k::recurrent_cell},
    KernelRow{Op::recurrent_cell_grad, &k::recurrent_cell_grad}, made_of_others(Op::recurrent),
    made_of_others(Op::recurrent_grad), KernelRow{Op::strided_copy, &k::strided_copy},
    KernelRow{Op::concat, &k::concat}, KernelRow{Op::take, &k::take}, KernelRow{Op::take_grad, &k::take_grad},
    KernelRow{Op::gather, &k::gather}, KernelRow{Op::scatter_add, &k::scatter_add}, KernelRow{Op::put, &k::put},
    KernelRow{Op::first_places, &k::first_places}, KernelRow{Op::ravel_multi_index, &k::ravel_multi_index},
    KernelRow{Op::one_hot, &k::one_hot}, KernelRow{Op::triangle, &k::triangle}, KernelRow{Op::custom, &k::custom},
    KernelRow{Op::source, &k::source}, KernelRow{Op::collective, &k::collective}, KernelRow{Op::update, &k::update},
    KernelRow{Op::update_rows, &k::update_rows});
static_assert(has_all_kernels(kernels), "the CPU has every operation");

Backend make_table() {
  check_processor();
  Backend backend;
  backend.name = "cpu";
  backend.enter_thread = enter_cpu_thread;
  backend.leave_thread = leave_cpu_thread;
  fill(backend, kernels);
  backend.elementwise = elementwise_kernels();
  return backend;
}

}  // namespace

const Backend* make_cpu_backend() {
  static const Backend backend = make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
