"""Evaluates expressions by MXNet's names and prints what they give as JSON: with `mxnet` itself, or with asyncgrad's.

    python mxnet_expressions.py mxnet|asyncgrad
"""
import json
import math
import operator
import sys

import numpy

SETUP = """
rng = numpy.random.default_rng(0)
X = rng.normal(size=(2, 3, 4)).astype("float32")
P = rng.uniform(0.1, 2, (3, 4)).astype("float32")
x, p = np.array(X), np.array(P)
i = np.array([2, 0, 1])
edges, whole = np.array([7.0, -7.0, 0.1, -3.0, 2.0, 0.0, numpy.inf, -numpy.inf, numpy.nan]), np.array([-7, -2, 0, 1, 2, 7], dtype="int32")
s, nan = np.dot(p, p.T) + np.eye(3), np.array([[1, numpy.nan, 2], [3, 4, 5]])
"""

UNARY = ("exp log sqrt sin cos tan tanh sinh cosh abs square sign floor ceil log1p expm1 log2 log10 reciprocal negative").split()

EXPRESSIONS = [
    *(f"np.{name}(p)" for name in UNARY),
    "np.array([1, 2])", "np.array([[1.5, 2]])", "np.array(3)", "np.arange(3)", "np.arange(1, 7, 2)", "np.zeros((2, 3))",
    "np.ones(3)", "np.full((2,), 7)", "np.eye(3)", "np.linspace(0, 1, 5)", "np.zeros_like(p)", "np.ones_like(p)",
    "np.array(numpy.arange(3.0))", "np.array(X)", "np.meshgrid(np.arange(2), np.arange(3))[1]",
    "p + p", "p - 1", "2 - p", "p * 3", "p / 2", "1 / p", "p ** 2", "2 ** p", "-p", "p % 0.3", "np.abs(-p)",
    "p > 1", "p <= 1", "p == p", "p != p", "np.maximum(p, 1)", "np.minimum(p, 1)", "np.clip(p, 0.5, 1)",
    "np.where(p > 1, p, -p)", "p.sum()", "p.sum(axis=0)", "p.mean()", "p.mean(axis=1, keepdims=True)", "p.max()", "p.max(axis=1)",
    "p.min(axis=0)", "p.argmax(axis=1)", "p.argmin(axis=0)", "p.std()", "p.var(axis=0)", "x.sum(axis=(0, 2))", "np.cumsum(p, axis=1)",
    "np.sum(p, axis=1, keepdims=True)", "np.linalg.norm(p)", "np.linalg.norm(p, axis=1)",
    "np.dot(p, p.T)", "p.dot(p[0])", "np.dot(p[0], p[1])", "np.tensordot(x, x, axes=([0, 1], [0, 1]))", "np.dot(x, p.T)",
    "x.reshape(6, 4)", "x.reshape((2, -1))", "x.T", "x.transpose(1, 0, 2)", "np.transpose(x, (2, 0, 1))", "x.swapaxes(0, 1)",
    "np.expand_dims(p, 1)", "np.squeeze(np.expand_dims(p, 1))", "np.concatenate([p, p], axis=1)", "np.concatenate((p, p))",
    "np.stack([p, p], axis=1)", "np.tile(p, (2, 1))", "np.repeat(p, 2, axis=0)", "np.flip(p, axis=0)", "np.broadcast_to(p[0], (2, 4))",
    "np.split(p, 2, axis=1)[1]", "np.vstack([p[0], p[1]])", "np.hstack([p, p])", "np.moveaxis(x, 0, 2)", "np.sort(p, axis=1)",
    "p[0]", "p[-1, 1:3]", "p[:, ::2]", "p[:, None].reshape(3, 4)", "x[..., 1]", "x[1, :, 2]", "p[::-1]", "x[0][1:3]", "p[i]", "p[[0, 2]]",
    "p.astype('float64')", "p.astype('int64')", "(p > 1).sum()", "(p > 1).astype('float32')", "(p > 1).mean()",
    "len(p)", "p.size", "p.ndim", "p.shape", "p.item(0)", "p[0, 0].item()", "float(p[0, 0])", "repr(np.ones((1, 2)) * 3)", "str(np.arange(3))",
    "repr(np.array([[1.0, 2.5]]))", "f'{p[0].sum().item():.3f}'",
    "npx.relu(x)", "npx.sigmoid(x)", "npx.softmax(x)", "npx.log_softmax(x, axis=1)", "npx.pick(p, np.array([0, 3, 1]))",
    "npx.pick(p, np.array([0, 9, 1]))", "npx.one_hot(i, 3)", "npx.batch_dot(x, x, transpose_b=True)", "npx.batch_dot(x, x, transpose_a=True)",
    "npx.sequence_mask(x, np.array([1, 2, 1]), True, value=-1)", "npx.sequence_mask(x, np.array([1, 3]), True, axis=1)",
    "npx.leaky_relu(x, slope=0.1)", "npx.topk(p, k=2, axis=1)", "npx.topk(p, k=2, ret_typ='value')",
    "gradient(lambda a: (a * a).sum(), p)", "gradient(lambda a: a * 3, p)", "gradient(lambda a: npx.softmax(a)[:, 0], p)",
    "gradient(lambda a: np.log(a).sum(axis=0) ** 2, p)", "gradient(lambda a: a[1:, ::2] * 5, p)", "gradient(lambda a: np.abs(a - 1), p)",
    "gradient(lambda a: np.maximum(a, 1), p)", "gradient(lambda a: a.max(axis=1), p)", "gradient(lambda a: np.concatenate([a, a * 2]), p)",
    "gradient(lambda a: npx.relu(a - 1), p)", "gradient(lambda a: a.detach() * a, p)", "gradient(lambda a: np.dot(a, a.T), p)",
    "gluon.loss.L2Loss()(p, p * 2)", "gluon.loss.L1Loss()(p, p * 2)", "gluon.loss.SoftmaxCrossEntropyLoss()(p, np.array([0, 3, 1]))",
    "gluon.loss.SigmoidBCELoss()(p, p > 1)",
    "gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)(p, npx.softmax(p))",
    "edges % 0", "0 % edges", "edges % 0.3", "-2.5 % edges", "edges % numpy.inf", "-numpy.inf % edges", "np.mod(edges, 3)",
    "np.remainder(edges.reshape(-1, 1), edges)", "np.mod(7, 0)", "np.mod(-7.5, 2)", "np.divide(1, 4)", "np.power(2, 3)", "np.equal(1, 1)",
    "np.mod(edges.astype('float64').reshape(-1, 1), edges)", "np.mod(whole.reshape(-1, 1), whole)", "whole % 0", "0 % whole", "whole % 2.5",
    "-3 % whole", "np.mod(whole.reshape(-1, 1), edges[:5])", "np.mod(edges[:5].reshape(-1, 1), whole)", "np.mod(whole, 2, out=np.zeros(6, dtype='int32'))",
    "np.mod(whole.astype('int64').reshape(-1, 1), whole.astype('int64'))", "np.array([1, 7, 8], dtype='uint8') % 0", "changed(lambda a: operator.imod(a, 2))", "changed(lambda a: operator.ipow(a, 2))",
    "gradient(lambda a: a % 2, edges[:5])", "gradient(lambda a: a % 0, edges[:5])", "gradient(lambda a: 7 % a, np.array([2.0, -2.0, 0.0]))",
    "gradient(lambda a: np.mod(edges[:3].reshape(-1, 1), a), np.array([2.0, -3.0]))",
    "np.add(p, p)", "np.subtract(p, 1)", "np.multiply(p, 2)", "np.divide(p, p[0])", "np.mod(p, 0.3)", "np.power(p, 2)",
    "np.absolute(-p)", "np.around(p * 10)", "np.rint(p * 10)", "np.round(p * 10, 1)", "np.isnan(p)", "np.isfinite(p / 0)",
    "np.any(p > 1)", "np.all(p > 1, axis=0)", "np.array_equal(p, p)", "np.allclose(p, p + 1e-9)", "np.argsort(p, axis=1)",
    "np.argsort(-p)", "np.identity(3)", "np.full_like(p, 4)", "np.logical_not(p > 1)", "np.outer(p[0], p[1])",
    "np.prod(p, axis=1)", "np.prod(p)", "np.ravel(p)", "np.roll(p, 1, axis=1)", "np.roll(p, 2)", "np.nonzero(p > 1)",
    "np.take(p, i, axis=1)", "np.tril(p)", "np.unique(np.array([3, 1, 3, 2]))", "np.copy(p)", "np.empty((2, 3)).shape",
    "np.greater(p, 1)", "np.less_equal(p, 1)", "np.equal(p, p)", "np.shape(p)", "np.matmul(x, p.T)", "np.argmax(p)",
    "np.argmax(p, axis=0)", "np.max(p, axis=0)", "np.std(p, axis=1)", "np.var(p)", "np.concatenate([x, x], axis=-1)",
    "np.cumsum(p)", "np.flip(p)", "np.flip(x, (0, 2))", "np.repeat(p, 3)", "np.tile(p, 2)",
    "np.linspace(1, 2, 4, endpoint=False)", "np.arange(0, 1, 0.25)", "np.arange(5, dtype='int64')",
    "np.zeros((2,), dtype='int32')", "np.split(p, [1, 3], axis=1)[1]", "np.where(p > 1, 1, 0)", "np.where(p > 1, p, 0)",
    "np.clip(p, None, 1)", "np.maximum(p, p[0])", "np.sort(p, axis=0)", "np.linalg.norm(p, axis=(0, 1))",
    "np.linalg.norm(p, ord=1, axis=1)", "np.eye(3, 4)", "np.eye(3, k=1)", "p.round()", "p.clip(0, 1)", "p.prod()",
    "p.cumsum(axis=0)", "p.flatten()", "p.repeat(2, axis=1)", "p.tolist()", "p.item(3)", "p.argsort()", "p.any()", "p.all()",
    "p.take(i, axis=1)", "p.var(axis=1)", "p.nonzero()", "str(p.dtype)", "str(p.ctx)", "p.grad", "p.max(axis=(0, 1))",
    "x[[0, 1], [1, 2]]", "p[p > 1]", "p[np.array([0, 1]), np.array([1, 2])]", "x[:, ::-1]", "p[np.array([True, False, True])]",
    "p % 2", "p @ p.T", "int(p[0, 0] * 10)", "bool(p[0, 0])", "1 + i", "i ** 2", "i == 2", "(p > 1) * 2", "(p > 1) + (p < 1)",
    "~(p > 1)", "npx.activation(x, 'tanh')", "npx.activation(x, 'softrelu')",
    "npx.fully_connected(p, p, None, num_hidden=3, no_bias=True)",
    "npx.fully_connected(x, np.ones((2, 12)), np.ones(2), num_hidden=2)",
    "npx.fully_connected(x, np.ones((2, 4)), np.ones(2), num_hidden=2, flatten=False)",
    "npx.embedding(i, p, input_dim=3, output_dim=4)", "npx.reshape_like(p, p.T)", "npx.layer_norm(x, np.ones(4), np.zeros(4))",
    "npx.layer_norm(x, np.ones(3) * 2, np.ones(3), axis=1)", "npx.dropout(x, 0.5)",
    "npx.convolution(image, np.ones((3, 2, 3, 3)), np.ones(3), kernel=(3, 3), num_filter=3)",
    "npx.convolution(image, np.ones((4, 1, 3, 3)), np.ones(4), kernel=(3, 3), num_filter=4, num_group=2)",
    "npx.pooling(image, kernel=(2, 2), stride=(2, 2), pool_type='avg')",
    "npx.pooling(image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='max')",
    "npx.pooling(image, kernel=(1, 1), global_pool=True, pool_type='avg')", "npx.softmax(x, temperature=2.0)",
    "npx.one_hot(i, 4, on_value=2.0, off_value=-1.0)", "npx.pick(p, np.array([[0], [1], [2]]), axis=1, keepdims=True)",
    "npx.topk(p, k=2, ret_typ='both')", "npx.topk(p, k=2, axis=0, ret_typ='value', is_ascend=True)",
    "gluon.loss.L2Loss(weight=2)(p, p * 2)", "gluon.loss.L2Loss()(p, p * 2, np.ones((3, 1)) * 3)",
    "gluon.loss.SoftmaxCrossEntropyLoss(axis=1)(x, np.zeros((2, 4)))",
    "gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)(npx.log_softmax(p), np.array([0, 3, 1]))",
    "gluon.loss.SigmoidBCELoss(from_sigmoid=True)(npx.sigmoid(p), p > 1)", "npx.leaky_relu(x, act_type='elu', slope=0.3)",
    "npx.leaky_relu(x, act_type='gelu')", "p * np.array([1, 2, 3, 4], dtype='int64')",
    "p * np.array([1, 2, 3, 4], dtype='int32')", "np.array([1, 2], dtype='int64') + np.array([1, 2], dtype='int32')",
    "np.array([1, 2], dtype='int64') * 1.5", "np.array([1, 2], dtype='int32') * 1.5", "np.array([1, 2], dtype='int64') / 2",
    "np.array([1, 2], dtype='int32') / 2", "np.array([1, 2], dtype='int32') / numpy.float32(2)", "np.array([1, 2], dtype='uint8') / numpy.float64(2)", "p + np.array([1, 2, 3, 4], dtype='float64')", "(p > 1) * p", "1 - (p > 1)",
    "(p > 1) - 0.5", "(p > 1) * (p < 1)", "(p > 1) == (p < 1)", "np.sum(p, dtype='float64')",
    "np.array([1, 2], dtype='int32').sum()", "np.array([1, 2], dtype='int32').mean()", "np.array([1, 2], dtype='int64').mean()",
    "(p > 1).sum(axis=0)", "np.mean(p, dtype='float64')", "np.cumsum(p, dtype='float64')", "np.array([1, 2], dtype='int32') ** 2",
    "np.array([1, 2], dtype='int32') + 1", "np.array([1, 2], dtype='int32') + 1.5", "np.array([1, 2], dtype='uint8') + 1",
    "np.array([1, 2], dtype='int32') > 1.5", "np.where(p > 1, 1.5, 0)", "np.where(np.array([1, 0]), 1, 0)", "np.arange(3) * 2",
    "np.arange(3, dtype='int32') * p[:, 0]", "np.maximum(np.array([1, 2], dtype='int32'), 1.5)",
    "np.exp(np.array([1, 2], dtype='int32'))", "np.sqrt(np.array([1, 4], dtype='int64'))",
    "np.abs(np.array([1, -4], dtype='int32'))", "np.array([1, 2], dtype='int32').max()", "np.add(p, p, out=p.copy())",
    "np.exp(p, out=p.copy())", "np.clip(np.array([1, 5], dtype='int32'), 0, 3)", "np.ones((2, 2), dtype=np.int32)",
    "np.array([True, False])", "np.array([1.5], dtype='int32')", "np.full((2,), True)", "np.full((2,), 1, dtype='int32')",
    "np.diag(p[0])", "np.diag(p)", "np.trace(p)", "np.array_split(p, 3, axis=1)", "np.append(p, p, axis=0)", "np.isinf(p / 0)",
    "np.hypot(p, p)", "np.linalg.norm(p, ord='fro')", "np.linalg.norm(p, keepdims=True)",
    "np.argmax(p, axis=1).dtype == np.int64", "p.argmax().item()", "np.atleast_2d(p[0])", "np.dstack((p, p))",
    "np.average(p, axis=0)", "np.average(p, axis=1, weights=np.array([1, 2, 3, 4]))", "np.inner(p, p)", "np.vdot(p, p)",
    "np.diff(p, axis=1)", "npx.smooth_l1(p)", "npx.arange_like(p, axis=1)", "np.degrees(p)", "np.radians(p)", "np.trunc(x)",
    "np.fix(x)", "np.hsplit(p, 2)", "np.vsplit(p, 3)", "np.column_stack((p[0], p[1]))", "np.rollaxis(x, 2)",
    "np.array([4, 9], dtype='int32') ** 0.5", "np.array([1, 2], dtype='int32') < 1.5", "np.array([1, 2]) < 1.5",
    "np.prod(x, axis=(0, 2))", "np.prod(p, axis=0, keepdims=True)", "gradient(lambda a: np.prod(a, axis=1), p)", "p.prod(axis=0)",
    "np.trunc(np.array([1, 2], dtype='int32'))", "np.ceil(p, out=p.copy())", "np.sum(p, axis=0, out=p[0].copy())",
    "np.diag(p, k=1)", "np.diag(p[0], k=-1)", "npx.smooth_l1(x, scalar=2.0)", "npx.arange_like(p)",
    "np.array_split(p, 3, axis=1)[0]", "np.diff(x, n=2)", "np.mod(np.array([5, 7], dtype='int32'), 3)",
    "np.array([1, 2], dtype='int32') * 2",
    "np.empty_like(p).shape", "np.logspace(0, 1, 3)", "np.atleast_1d(np.array(3))", "np.flipud(p)", "np.fliplr(p)",
    "np.pad(p, ((1, 1), (0, 2)))", "np.delete(p, 1, axis=0)", "np.delete(p, slice(1, 3), axis=1)", "np.row_stack((p, p))",
    "np.amax(p, axis=0)", "np.amin(p)", "np.fabs(x)", "np.isposinf(p / 0)", "np.isneginf(-p / 0)", "np.argwhere(p > 1)",
    "np.bincount(np.array([0, 1, 1], dtype='int64'))", "np.bincount(np.array([0, 1, 1], dtype='int64'), minlength=5)",
    "np.delete(p, -1, axis=0)", "gradient(lambda a: np.pad(a, ((1, 1), (0, 2))) * 2, p)",
    "np.arcsin(p / 2)", "np.arccos(p / 2)", "np.arctan(x)", "np.arcsinh(x)", "np.arccosh(p + 1)", "np.arctanh(p / 3)",
    "np.cbrt(x)", "np.arctan2(x, x[1])", "np.arctan2(x, 2)", "np.arctan2(1.5, p)", "np.arccos(0.5)",
    "np.arctan(np.array([1, 2], dtype='int32'))", "gradient(lambda a: np.arcsin(a / 3), p)",
    "gradient(lambda a: np.arccos(a / 3) * a, p)", "gradient(lambda a: np.arctan(a) ** 2, p)",
    "gradient(lambda a: np.arcsinh(a), p)", "gradient(lambda a: np.arccosh(a + 1), p)",
    "gradient(lambda a: np.arctanh(a / 3), p)", "gradient(lambda a: np.cbrt(a), p)",
    "gradient(lambda a: np.arctan2(a, a[0]) * a, p)", "gradient(lambda a: np.arctan2(a, 2), p)",
    "np.arcsin(p / 2, out=p.copy())", "np.linalg.inv(s)", "np.linalg.det(s)", "np.linalg.inv(np.stack([s, s * 2]))",
    "np.linalg.det(np.stack([s, s * 2]))", "gradient(lambda a: np.linalg.inv(a) * a, s)",
    "gradient(lambda a: np.linalg.det(a) * 2, s)", "gradient(lambda a: np.linalg.det(a), np.stack([s, s * 2]))",
    "np.linalg.solve(s, p)", "np.linalg.solve(s, p[:, 0])", "gradient(lambda a: np.linalg.solve(a, p), s)",
    "gradient(lambda a: np.linalg.solve(s, a) * a, p)", "np.linalg.slogdet(s)", "np.linalg.cholesky(s)", "np.linalg.eigvals(s)",
    "np.linalg.eigvalsh(s)", "np.linalg.eigh(s)[0]", "np.linalg.eig(s)[0]", "np.abs(np.linalg.eigh(s)[1])",
    "np.abs(np.linalg.eig(s)[1])", "np.linalg.pinv(p)", "np.linalg.matrix_rank(np.stack([s, s]))",
    "np.linalg.norm(x, axis=(1, 2))", "np.linalg.multi_dot([p, p.T, p])", "np.linalg.matrix_power(s, 3)", "np.linalg.cond(s)",
    "np.linalg.svd(p)[1]", "np.linalg.qr(p)[1]", "np.linalg.lstsq(p, p, rcond=None)[0]",
    "np.linalg.tensorinv(np.eye(12).reshape(3, 4, 12))", "np.linalg.tensorsolve(np.eye(12).reshape(3, 4, 12), p.reshape(3, 4))",
    "np.einsum('ij,jk->ik', p, p.T)", "np.einsum('ii->i', s)", "np.einsum('ii', s)", "np.einsum('ij->ji', p)",
    "np.einsum('ij->j', p)", "np.einsum('ij,ij->', p, p)", "np.einsum('i,j->ij', p[0], p[:, 0])",
    "np.einsum('abc,abd->acd', x, x)", "np.einsum('abc,cd', x, p.T)", "np.einsum('abc,dc,b->ad', x, p, p[:, 0])",
    "np.einsum('ijk, il -> jkl', x, p[:2])", "np.einsum('...j,kj->...k', x, p)", "np.einsum('...ij,...jk->...ik', x, p.T)",
    "np.einsum('ij', p)", "np.einsum('i,i,i->i', p[0], p[1], p[2])", "np.einsum('iij->ij', np.stack([p, p, p]))",
    "np.einsum('i', p[0])", "np.einsum('i->', p[0])", "np.einsum('...ij->...', x)",
    "np.einsum('i,i', whole, whole)", "np.einsum('i,j->ij', whole, whole)", "np.einsum('ij,jk', p[:, :1], p[:2])",
    "np.prod(whole)", "np.prod(whole > 0)", "np.prod(whole, dtype='float32')",
    "np.tensordot(p, p, axes=(1, 1))", "np.inner(p, p)",
    "gradient(lambda a: np.einsum('ij,kj->ik', a, a), p)", "gradient(lambda a: np.einsum('ii', a), s)",
    "gradient(lambda a: np.einsum('abc,bc->ab', x, a), p)", "np.abs(np.linalg.svd(p)[0])", "np.abs(np.linalg.svd(p)[2])",
    "np.abs(np.linalg.qr(p)[1])", "np.linalg.lstsq(s, p, rcond=None)[0]", "np.apply_along_axis(numpy.sum, 1, p)",
    "np.argpartition(p, 2)[:, 2]", "np.array_equiv(p, p)", "np.compress([True, False, True], p, axis=0)", "np.corrcoef(p)",
    "np.correlate(p[0], p[1])", "np.count_nonzero(p > 1)", "np.count_nonzero(p > 1, axis=0)", "np.cov(p)",
    "np.digitize(p[0], np.array([0.5, 1]))", "np.divmod(p, 0.3)", "np.extract(p > 1, p)", "np.flatnonzero(p > 1)",
    "np.float_power(p, 2)", "np.frexp(p)", "np.heaviside(x, 0.5)",
    "np.histogram_bin_edges(p, 3)", "np.i0(p)", "np.interp(p[0], np.arange(3), np.array([0, 1, 5]))",
    "np.intersect1d(i, np.array([1, 2]))", "np.isclose(p, p)", "np.isin(i, [1, 2])", "np.lexsort((p[0], p[1]))", "np.modf(x)",
    "np.nanargmax(p)", "np.nancumsum(p)", "np.nanmax(p, axis=0)", "np.nanmedian(p)", "np.nanmin(p)", "np.nanpercentile(p, 30)",
    "np.nanprod(p)", "np.nanquantile(p, 0.3)", "np.partition(p, 2)[:, 2]", "np.poly(p[0])", "np.polyadd(p[0], p[1])",
    "np.polyfit(np.arange(3), p[:, 0], 1)", "np.polymul(p[0], p[1])", "np.polysub(p[0], p[1])", "np.polyint(p[0])",
    "np.positive(p)", "np.ptp(p, axis=0)", "np.ptp(p)", "np.real(p)", "np.searchsorted(np.arange(3), p)",
    "np.select([p > 1, p > 0.5], [p, -p])", "np.setdiff1d(i, np.array([1]))", "np.setxor1d(i, np.array([1, 7]))",
    "np.signbit(x)", "np.spacing(p)", "np.take_along_axis(p, np.array([[0], [1], [2]], dtype='int64'), 1)",
    "np.tril_indices_from(s)", "np.triu_indices_from(s, 1)", "np.trim_zeros(np.array([0, 1, 0]))",
    "np.union1d(i, np.array([5]))", "np.unwrap(p * 5)", "np.vander(p[0], 3)", "np.vander(p[0])",
    "np.piecewise(p, [p < 1, p >= 1], [-1, 1])", "np.packbits(np.array([1, 0, 1], dtype='uint8'))", "np.ix_(i, i)",
    "np.roots(np.array([1, -3, 2]))", "np.polydiv(p[0], p[1])", "np.nancumprod(p)", "np.nanargmin(p, axis=1)",
    "np.apply_over_axes(numpy.sum, p, [0])", "np.percentile(p, 30)", "np.percentile(p, 30, axis=0)", "np.quantile(p, 0.3)",
    "np.quantile(p, np.array([0.3, 0.5]), axis=1)", "np.nan_to_num(np.log(x))", "np.rot90(p)", "np.rot90(x, 3, (1, 2))",
    "np.atleast_3d(p)", "np.atleast_3d(p[0], x)", "np.dsplit(x, 2)", "np.diagonal(p)", "np.diagonal(p, 1)",
    "np.diagonal(x, 0, 1, 2)", "np.diagflat(p[0])", "np.diagflat(p[0], 1)", "np.ediff1d(p)", "np.indices((2, 3))",
    "np.insert(p[0], 1, 5)", "np.insert(p, 1, p[0], axis=0)", "np.polyval(p[0], p[1])", "np.polyval(p[0], x)",
    "np.diag_indices_from(s)", "np.unravel_index(np.array([3, 5], dtype='int64'), (2, 3))", "np.blackman(5)", "np.hamming(5)",
    "np.hanning(5)", "np.bitwise_and(np.array([5, 6], dtype='int64'), np.array([3, 3], dtype='int64'))",
    "np.bitwise_or(np.array([5, 6], dtype='int64'), 8)",
    "np.bitwise_xor(np.array([5, 6], dtype='int64'), np.array([3, 3], dtype='int64'))",
    "np.bitwise_not(np.array([5, 6], dtype='int64'))", "np.invert(np.array([5, 6], dtype='int64'))", "np.bitwise_not(p > 1)",
    "np.copysign(p, x)", "np.copysign(p, -1)", "np.ldexp(p, 2)",
    "np.lcm(np.array([4, 6], dtype='int64'), np.array([6, 9], dtype='int64'))", "np.remainder(p, 0.3)",
    "np.histogram(p, bins=3, range=(0, 2))", "np.resize(p, (2, 3))", "np.resize(p, (4, 5))", "np.broadcast_arrays(p, p[0])",
    "np.round_(p * 10)", "np.around(p, 1)", "np.sometrue(p > 1)", "np.max(p, axis=(0, 1))", "np.trapz(p[0])", "np.msort(p)",
    "np.in1d(i, [1, 2])", "np.alltrue(p > 1)", "np.bitwise_and(p > 1, p < 2)", "np.array_split(p, 2)", "np.expand_dims(p, -1)",
    "np.PZERO", "np.finfo('float32').eps", "np.squeeze(p[None], 0)", "np.argmax(p, 0)", "npx.batch_flatten(x)", "npx.erf(x)",
    "npx.nonzero(p > 1)", "npx.shape_array(x)", "npx.slice(p, (0, 1), (2, 3))", "npx.reshape(x, (-2, -1))",
    "npx.reshape(x, (-5, 4))", "npx.reshape(x, (-6, 2, -1, -4))", "npx.gather_nd(p, np.array([[0, 1], [1, 2]]))",
    "npx.multibox_prior(image, sizes=[0.5, 0.3], ratios=[1, 2])",
    "npx.roi_pooling(image, np.array([[0, 0, 0, 4, 4]]), pooled_size=(2, 2), spatial_scale=1.0)",
    "npx.deconvolution(image, np.ones((2, 3, 2, 2)), kernel=(2, 2), num_filter=3, no_bias=True)",
    "npx.softmax(x, use_length=True, length=np.array([[1, 2, 3, 1], [2, 2, 2, 2]], dtype='int32'), axis=1)",
    "npx.multibox_prior(image, sizes=[0.5, 0.3], ratios=[1, 2], clip=True, steps=(0.2, 0.1), offsets=(0.2, 0.3))",
    "npx.roi_pooling(image, np.array([[0, 0, 1, 5, 4], [1, 2, 2, 9, 3]]), pooled_size=(2, 3), spatial_scale=0.7)",
    "gradient(lambda a: npx.roi_pooling(a, np.array([[0, 0, 1, 5, 4], [1, 2, 2, 9, 3]]), pooled_size=(2, 3), spatial_scale=0.7), image)",
    "npx.deconvolution(image, np.ones((2, 3, 2, 3)) * 2, np.ones(3), kernel=(2, 3), stride=(2, 1), pad=(1, 0), adj=(1, 0), num_filter=3, no_bias=False)",
    "gradient(lambda a: npx.erf(a) * a, x)", "gradient(lambda a: npx.gather_nd(a, np.array([[0, 1, 0], [1, 2, 1]])) * 2, p)",
    "gradient(lambda a: npx.slice(a, (0, 1), (2, 3)) * 2, p)", "gradient(lambda a: np.nan_to_num(a / a[0, 0]) * 2, p)",
    "gradient(lambda a: np.diagonal(a, 1) * 3, p)", "gradient(lambda a: np.polyval(a, p), p[0])",
    "gradient(lambda a: np.ediff1d(a) ** 2, p)",
    "gradient(lambda a: npx.softmax(a, use_length=True, length=np.array([[1, 2, 3, 1], [2, 2, 2, 2]], dtype='int32'), axis=1) ** 2, x)",
    "npx.slice(p, (None, 1), (None, 3), (2, 1))", "npx.slice(p, (0, 1), (-1, -1))", "np.resize(p, 5)",
    "np.atleast_3d(np.array(3))", "np.diagonal(x)", "np.diagonal(p, -1)", "np.diagonal(p, 7)", "np.rot90(p, 2)",
    "np.rot90(p, -1)", "np.insert(p, -1, p[0], axis=0)",
    "np.nan_to_num(np.array([1, numpy.nan, numpy.inf, -numpy.inf]), nan=2, posinf=7)",
    "np.nan_to_num(np.array([1, numpy.nan, numpy.inf, -numpy.inf]))", "np.histogram(p, bins=np.array([0, 0.5, 1, 2]))",
    "np.ediff1d(p, to_begin=np.array([9.0]), to_end=np.array([7, 8.0]))", "np.ediff1d(p[0], to_end=7)", "np.hamming(1)",
    "np.indices((2,))", "np.bitwise_and(np.array([5, 6], dtype='int32'), np.array([3, 3], dtype='int32'))",
    "np.lcm(np.array([4, 6], dtype='int32'), np.array([6, 9], dtype='int32'))", "np.percentile(p, np.array([10, 90]), axis=1)",
    "np.percentile(p, 50, interpolation='lower')", "np.quantile(p, 0.5, keepdims=True)",
    "np.percentile(np.array([1, 2, 4], dtype='int32'), 30)", "scored(metric.NegativeLogLikelihood())",
    "scored(metric.CrossEntropy(eps=1e-3))", "scored(metric.TopKAccuracy(2))",
    "nd.nansum(nan.as_nd_ndarray()).asnumpy().tolist()", "nd.nansum(nan.as_nd_ndarray(), axis=1).asnumpy().tolist()",
    "mx_image.imresize(bytes_, 9, 7)", "mx_image.imresize(bytes_, 30, 26)", "mx_image.imresize(bytes_[..., :1], 17, 40)",
    "mx_image.imresize(bytes_.astype('float32'), 30, 7)", "mx_image.fixed_crop(bytes_, 1, 2, 5, 4)",
    "mx_image.fixed_crop(bytes_, 1, 2, 5, 4, (9, 9), 1)", "mx_image.center_crop(bytes_, (5, 4))",
    "mx_image.center_crop(bytes_, (30, 4), 1)", "mx_image.scale_down((10, 20), (15, 12))",
    "mx_image.color_normalize(bytes_.astype('float32'), np.array([1, 2, 3]), np.array([2, 3, 4]))",
    "transforms.Resize(9)(bytes_)", "transforms.Resize((9, 7))(bytes_)", "transforms.CenterCrop((5, 4))(bytes_)",
    "transforms.ToTensor()(bytes_)", "transforms.Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7])(transforms.ToTensor()(bytes_))",
    "transforms.Cast('float64')(bytes_)", "transforms.Compose([transforms.Resize((9, 7)), transforms.ToTensor()])(bytes_)",
    "transforms.RandomFlipLeftRight()(bytes_).shape", "transforms.RandomResizedCrop((5, 6))(bytes_).shape", "str(bytes_.dtype)",
    *(f"[str(x.dtype) for x in (np.array([1.5], dtype={kind}), p.astype({kind}))]" for kind in (
        "int", "float", "bool", "'int'", "'float'", "numpy.float64", "numpy.int32")),
    "begun_within(p)",
    *(f"{function}(np.{kind})" for function in ("repr", "str", "'{}'.format") for kind in (
        "array(0.7736172)", "ones(2)", "ones((0, 3))", "ones((1, 20))", *(f"ones({shape}, dtype={dtype!r})" for shape in (
            "()", "2", "(0, 3)", "(1, 20)", "(1, 40)") for dtype in ("float64", "int32", "int64", "uint8", "bool")))),
    "'{:.3f}'.format(np.array(0.7736172))", "'{}'.format(np.array(3, dtype='int32'))",
    *(f"{function}({x})" for function in ("round", "math.trunc", "math.floor", "math.ceil") for x in (
        "np.array(1.567)", "np.array([-1.25, 2.5, 3.5])", "np.array(-3, dtype='int32')")),
    "p.stype", "round(p, 1)", "round(np.array(1.567), 1)", "round(np.array(15, dtype='int32'), -1)",
    *(f"written(lambda a: {view}, p)" for view in (
        "a.reshape(4, 3)", "a.reshape(3, 4)", "np.reshape(a, (-1,))", "a.flatten()", "np.ravel(a)", "np.expand_dims(a, 0)",
        "np.squeeze(a)", "a.squeeze()", "np.split(a, 3)[0]", "np.vsplit(a, 3)[1]", "np.atleast_1d(a)", "np.atleast_2d(a)",
        "npx.reshape_like(a, a)", "a.T", "a.swapaxes(0, 1)", "np.transpose(a)", "np.broadcast_to(a, (3, 4))", "a.copy()",
        "a[1]", "a[1:3]", "a[:]", "a[None]", "a[::2]", "a[:, 1]", "a[[0, 1]]", "a.detach()", "np.concatenate([a])",
        "a.astype('float32')", "a.astype('float32', copy=False)", "a.as_in_ctx(a.ctx)", "np.array(a)")),
    "made(init.Constant(2))", "made('ones')", "made(init.Constant(2), bias=init.Constant(3))", "made(None, bias='zeros')[1]",
    *(f"repr({block})" for block in (
        "nn.Dense(2)", "nn.Dense(2, 'relu', in_units=3)", "nn.Flatten()", "nn.Dropout(0.3)", "nn.Embedding(3, 4)",
        "nn.Activation('tanh')", "nn.LeakyReLU(0.1)", "nn.Conv2D(3, 2)", "nn.BatchNorm()", "nn.LayerNorm()", "nn.Conv1D(3, 2)",
        "nn.Conv2D(4, 3, 2, 1, groups=2, activation='relu', use_bias=False)", "nn.MaxPool2D(2)", "nn.AvgPool2D(3, 2, 1)",
        "nn.GlobalAvgPool2D()", "nn.GlobalMaxPool1D()", "nn.MaxPool1D(3)",
        "nn.Conv2DTranspose(3, 2)", "nn.Conv2DTranspose(3, 3, strides=2, output_padding=1)", "nn.LayerNorm(scale=False)",
        "nn.BatchNorm(scale=False, epsilon=1e-3)", "nn.Conv2D(3, 2, dilation=2, in_channels=5)")),
    "nn.Dense(2).weight.shape", "nn.Conv2D(3, 2).weight.shape", "nn.BatchNorm().gamma.shape",
    *(f"[b for b in gluon.data.DataLoader(gluon.data.ArrayDataset({data}), 2)]" for data in (
        "numpy.ones((3, 2))", "numpy.arange(3)", "[1.5, 2, 3]", "[[1, 2]] * 3", "P", "p", "p[:, 0]", "numpy.arange(3), p")),
    "[list(loader) for loader in [gluon.data.DataLoader(numpy.arange(5), 3, last_batch='rollover')] for _ in range(3)]",
    "[b for b in gluon.data.DataLoader(numpy.arange(5), 3, last_batch='discard')]",
    "[b for b in gluon.data.DataLoader(numpy.arange(5), 2, sampler=gluon.data.SequentialSampler(3, 1))]",
    "[b for b in gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2)]",
    "[len(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, last)) for last in ('keep', 'discard', 'rollover')]",
    "list(gluon.data.FilterSampler(lambda i: i > 2, [1, 5, 2, 4]))", "np.arange(np.min(p), np.max(p), p[0, 0])",
    "np.array([200, 1], dtype='uint8') + np.array([100, 1], dtype='uint8')", "np.array([1, 2], dtype='uint8') - 2",
    "p.take(np.array([0, 5]))", "np.take(p, np.array([0, 9, -4]), axis=0, mode='clip')",
    "np.take(p, np.array([0, 5, -1]), axis=0, mode='wrap')", "p.take(np.array([0, 9]), axis=0, mode='clip')",
    "np.linalg.norm(p, 1)", "np.linalg.norm(p, ord=1, axis=(0, 1))", "np.linalg.norm(p[0], ord=1)", "np.linalg.norm(x, ord=1)",
    "np.linalg.norm(p[0], ord=2)", "np.linalg.norm(p, ord=2, axis=1)", "np.linalg.norm(x, ord='fro')",
    "np.tensordot(p, np.ones((4, 4, 5)), axes=1)", "np.tensordot(x, np.ones((3, 4, 5, 6)), axes=2)", "np.tensordot(p, p, axes=0)",
    "np.array([1, 2], dtype='int32').std()", "np.array([1, 5], dtype='int64').var()",
    "np.array([1, 2], dtype='int32') / np.array([1, 2], dtype='int32')",
    "np.array([1, 2], dtype='int64') / np.array([2, 2], dtype='int64')", "np.array([1, 2], dtype='int32') / np.array([2.0, 2])",
    "np.unique(np.array([3, 1, 3]), return_counts=True)", "np.unique(np.array([3, 1, 3]), return_index=True, return_inverse=True)",
    "np.bincount(np.array([0, 1, 1], dtype='int64'), weights=np.array([0.5, 0.25, 1]))",
    "np.diag(np.ones((5, 2)), k=3)", "np.moveaxis(x, (0, 1), (2, 0))", "npx.pick(p, np.array([0, 9, -1]), mode='wrap')",
    "npx.pick(p, np.array([0, 9, -1]))", "npx.one_hot(np.array([0, 5, -1]), 3)", "npx.topk(p, k=0)",
    "npx.topk(p, k=-1, ret_typ='value')", "npx.topk(p, k=2, ret_typ='mask')", "npx.softmax(x, dtype='float64')",
    "np.identity(3, 'int32')", "np.cumsum(np.array([1, 2], dtype='int32'))", "np.cumsum(np.array([1, 2], dtype='uint8'))",
    "np.full((2,), -1.5, dtype='int32')", "np.hstack([np.array(1.0), np.array(2.0)])", "np.roll(p, (1, 2), axis=(0, 1))",
    "np.maximum(0.5, np.array([0, 3], dtype='int32'))", "np.maximum(2, np.array([1, 3], dtype='int32'))", "p.mean(dtype='int32')",
    "np.around(np.array([15.0, 25]), -1)", "np.power(np.array([2, 3], dtype='int32'), np.array([2, 3], dtype='int32'))",
    "np.logspace(0, 2, 3, dtype='int32')",
    "autograd.grad(*(lambda a: (a.attach_grad(), autograd.set_recording(True), (a * a).sum(), autograd.set_recording(False), a)[2::2])(p.copy()))",
    "[a.tolist() for a in gluon.utils.split_data(p, 2, even_split=False)]",
    "[a.tolist() for a in gluon.data.DataLoader(gluon.data.SimpleDataset([1, 2, 3]), 2)]",
    "[a.tolist() for a in gluon.data.DataLoader(gluon.data.ArrayDataset(numpy.ones((3, 2))).transform_first(lambda v: v + 1), 2)]",
    "[(layer.initialize(), layer.cast('float64'), str(layer.weight.data().dtype))[2] for layer in [nn.Dense(2, in_units=2)]]",
    *(f"trained({name!r}, {options})" for name, options in (
        ("sgd", {"learning_rate": 0.1, "wd": 0.1, "clip_gradient": 0.2, "momentum": 0.9}), ("nag", {"wd": 0.1}), ("nag", {"momentum": 0.5}),
        ("nag", {"learning_rate": 0.1, "wd": 0.1, "clip_gradient": 0.2, "momentum": 0.9}), ("adam", {"wd": 0.1, "clip_gradient": 0.2}),
        ("adagrad", {"wd": 0.1, "clip_gradient": 0.2}), ("adagrad", {"wd": 0.1, "learning_rate": 0.1, "eps": 0.01}),
        ("rmsprop", {"wd": 0.1, "clip_gradient": 0.2, "learning_rate": 0.1}), ("adadelta", {"wd": 0.1, "clip_gradient": 0.2}),
        ("sgd", {"learning_rate": 0.1}), ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}), ("adam", {"learning_rate": 0.1}),
        ("adagrad", {"learning_rate": 0.1}), ("rmsprop", {"learning_rate": 0.1}), ("adadelta", {"rho": 0.9}),
        ("nag", {"learning_rate": 0.1, "momentum": 0.9}), ("sgd", {"learning_rate": 0.1, "clip_gradient": 0.5}))),
    *(f"layer({layer})" for layer in (
        "nn.Dense(2)", "nn.Dense(2, activation='tanh', flatten=False)", "nn.LayerNorm()", "nn.BatchNorm()", "nn.Flatten()", "nn.Dropout(0.5)",
        "nn.Conv1D(4, 2)", "nn.Conv1D(6, 3, strides=2, padding=1, groups=3, activation='relu')", "nn.MaxPool1D()", "nn.AvgPool1D(3, 1, 1)",
        "nn.GlobalAvgPool1D()", "nn.GlobalMaxPool1D()", "nn.ELU(0.5)", "nn.Swish(2)", "nn.PReLU()", "nn.GELU()",
        "nn.LeakyReLU(0.2)")),
    *(f"layer({layer}, image)" for layer in (
        "nn.BatchNorm(axis=-1)", "nn.BatchNorm(use_global_stats=True)", "nn.BatchNorm(momentum=0.5, epsilon=0.1)",
        "nn.LayerNorm(axis=1)", "nn.AvgPool2D((3, 2), (2, 1), (1, 0), count_include_pad=False)",
        "nn.Conv2D(3, 3)", "nn.Conv2D(4, (3, 2), strides=2, padding=1, activation='relu')", "nn.Conv2D(4, 1, groups=2)",
        "nn.Conv2D(2, 3, dilation=2)", "nn.MaxPool2D()", "nn.MaxPool2D(3, 2, 1)", "nn.AvgPool2D(2)", "nn.AvgPool2D(3, 1, 1)",
        "nn.GlobalAvgPool2D()", "nn.BatchNorm()", "nn.GlobalMaxPool2D()",
        "nn.Conv2DTranspose(3, 3)", "nn.Conv2DTranspose(2, 4, strides=2, padding=1)", "nn.Conv2DTranspose(2, (2, 3), strides=(1, 3), use_bias=False)",
        "nn.Conv2DTranspose(2, 2, padding=1, output_padding=0, dilation=2)", "nn.Conv2DTranspose(2, 3, strides=2, output_padding=1)")),
    *(f"layer(rnn.{layer}, x)" for layer in ("RNN(3)", "LSTM(3)", "GRU(3, bidirectional=True)", "LSTM(2, num_layers=2, layout='NTC')")),
    "[lr_scheduler.FactorScheduler(2, 0.5, base_lr=1)(t) for t in range(1, 8)]",
    "[lr_scheduler.CosineScheduler(10, 1, 0.1)(t) for t in range(12)]", "[lr_scheduler.PolyScheduler(10, 1, 2, 0.1)(t) for t in range(12)]",
    "[s(t) for s in [lr_scheduler.MultiFactorScheduler([2, 5], 0.5, base_lr=1, warmup_steps=2, warmup_begin_lr=0.1)] for t in range(8)]",
    # Ends of the range, and rules of MXNet's own.
    *(f"np.{name}(np.array([1e-30, 1e-6, 1e-4, -0.3, 20.5, 88.9, 89.2, -89.3]))" for name in ("sinh", "cosh")),
    "np.log2(np.array([2.0 ** i for i in range(-120, 127, 7)]))", "np.log10(np.array([1e-30, 1e-3, 1, 1000, 1e10]))",
    "np.hypot(np.array([1e20, 3, 0, 1e-25]), np.array([1e20, 4, 0, 1e-25]))", "np.hypot(p, 2)",
    *(f"gradient(lambda a: np.{name}(a), p)" for name in ("sinh", "cosh", "log2", "log10")),
    "gradient(lambda a: np.hypot(a, a[0]) * a, p)", "np.tan(np.array([1.5707, 1e4]))",
    *(f"np.linalg.norm(np.array([{a}, {a}]){rest})" for a in ("1e20", "1e-25", "0.0", "3.0") for rest in ("", ", axis=0")),
    "np.linalg.norm(np.array([[1e20, 2], [3, 4]]), axis=1, keepdims=True)", "gradient(lambda a: np.linalg.norm(a, axis=0), p * 1e20)",
    "np.diag(np.array([numpy.inf, 1.0]), k=1).tolist()", "np.diag(np.array([2, 1], dtype='int32'))",
    *(f"np.{name}(np.array([1, 2], dtype='int32'))" for name in ("isinf", "isnan", "isfinite", "isposinf", "isneginf", "nan_to_num")),
    "np.nan_to_num(np.array([numpy.nan, numpy.inf, -numpy.inf, 1], dtype='float64'))",
    *(f"np.copysign({a}, {b}).tolist()" for a, b in (
        ("np.array([-numpy.inf, 1, 3, 2])", "np.array([-numpy.inf, -0.0, -1, numpy.inf])"), ("2.0", "np.array([-0.0, 1, -3])"),
        ("np.array([-2.0, 1])", "-0.0"), ("np.array([-2.0, 1])", "-5"))),
    "np.signbit(np.copysign(np.array([0.0, -0.0, 0.0]), np.array([-1.0, 1, 1]))).tolist()", "gradient(lambda a: np.copysign(a, -a), x)",
    "np.broadcast_to(1.0, (2,)) + 1",
    *(f"gradient(lambda a: {f}, np.array([0.0, 1, -1, 0]))" for f in (
        "np.maximum(a, 0)", "np.maximum(0, a)", "np.minimum(a, 0)", "np.minimum(0, a)", "np.maximum(a, a[0])",
        "np.maximum(a[0], a)", "np.minimum(a, a[::-1])", "np.maximum(a * 2, a) * a", "a.max()", "a.min()", "np.max(a * 2)", "npx.relu(a)", "np.abs(a)",
        "np.clip(a, 0, 1)", "a.reshape(2, 2).max(axis=0) * 3", "a.reshape(2, 2).min(axis=(0, 1), keepdims=True)", "np.maximum(a, 0).max()",
        "np.sign(a)", "np.floor(a)", "np.ceil(a) * a", "np.rint(a)", "np.around(a, 1)", "np.trunc(a)", "np.fix(a)", "np.round(a) + a")),
    *(f"gradient(lambda a: npx.pooling(a.reshape(1, 1, 2, 2), kernel=(2, 2), pool_type='max', global_pool={whole}), np.array([1.0, 1, 1, 0]))"
      for whole in (True, False)),
    "gradient(lambda a: npx.roi_pooling(a.reshape(1, 1, 2, 2), np.array([[0, 0, 0, 1, 1]]), (1, 1), 1.0), np.array([1.0, 2, 2, 0]))",
    "np.maximum(np.array([1, numpy.nan, 2]), np.array([numpy.nan, 1, 1])).tolist()[2]",
    *(f"np.array([300, -1.5, 3.7, -3.7]).astype('{kind}')" for kind in ("uint8", "int32", "int64", "float64", "i4", "f8")),
    "np.array([300, -7], dtype='int32').astype('uint8')", "np.array([1.5], dtype='f8')", "np.array([1.5]).astype(np.bool)",
    "np.rint(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609, numpy.inf, 1e20]))", "np.rint(np.array([3, -2], dtype='int32'))",
    "np.around(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))", "np.sign(np.array([numpy.nan, -numpy.inf, 0, 2])).tolist()", "np.sign(i)",
    "np.copysign(2, np.array([-1.0, 0, 3]))", "gradient(lambda a: npx.leaky_relu(a, act_type='elu'), np.array([-1.0, 0, 1, 90, 1e20]))",
    "gradient(lambda a: nn.ELU(0.5)(a), np.array([-1.0, 0.5, 100]))", "gradient(lambda a: np.arcsinh(a), np.array([0.0, 2, -1e20])) * 1e20",
    "grown(lambda q: setattr(q, 'grad_req', 'add'))", "grown(lambda q: (setattr(q, 'grad_req', 'add'), setattr(q, 'grad_req', 'write')))",
    "marked('write')", "marked('add')", "begun('write')", "begun('add')",
    *(f"stepped({name!r}, {options})" for name in ("adam", "sgd", "nag", "rmsprop", "adagrad", "adadelta") for options in (
        {"clip_gradient": 1.0, "wd": 0.5}, {"clip_gradient": 0.01, "wd": 5.0}, {"wd": 2.0})),
    # The decay is against the gradient.
    *(f"stepped({name!r}, {{'clip_gradient': 0.5, 'wd': 0.3}}, [-3.0, 2, -4])" for name in (
        "adam", "sgd", "nag", "rmsprop", "adagrad", "adadelta")),
    "gradient(lambda a: np.sort(a) * np.array([4, 3, 2, 1]), p)", "gradient(lambda a: np.sort(a, axis=0) * a, p)",
    "gradient(lambda a: np.sort(a, axis=None)[1:3], p)", "np.sort(p, axis=None)", "np.sort(np.array([2, 1], dtype='int32'))",
    *(f"gradient(lambda a: npx.topk(a, k=2, ret_typ={kind!r}){part} * np.array([3, 2]), p)" for kind, part in (("value", ""), ("both", "[0]"))),
    "gradient(lambda a: npx.topk(a, axis=None, k=2, ret_typ='value', is_ascend=True), p)",
    "npx.one_hot(np.array([1, 5]), 3, on_value=numpy.inf, off_value=-1.0).tolist()", "npx.one_hot(np.array([1]), 2, 3, 2, 'int32')",
    "unhooked()",
    *(f"refused(lambda: lr_scheduler.{call})" for call in (
        "FactorScheduler(0)", "FactorScheduler(-1)", "FactorScheduler(0.5)", "FactorScheduler(1, 2.0)", "MultiFactorScheduler([0, 1])",
        "MultiFactorScheduler([2, 1])", "MultiFactorScheduler([1], 2.0)", "PolyScheduler(0)", "CosineScheduler(0)",
        "CosineScheduler(3, warmup_steps=-1)", "CosineScheduler(3, warmup_steps=2, warmup_begin_lr=1)", "CosineScheduler(3, warmup_mode='x')")),
    *(f"refused(lambda: np.random.{call}.asnumpy())" for call in (
        "normal(0, -1, (2,))", "exponential(-1, (2,))", "gamma(-1.0, 1.0, (2,))", "gamma(1.0, -1.0, (2,))", "rayleigh(-1.0, (2,))",
        "weibull(-1.0, (2,))", "pareto(-1.0, (2,))", "power(-1.0, (2,))", "logistic(0, -1.0, (2,))", "gumbel(0, -1.0, (2,))",
        "lognormal(0, -1.0, (2,))", "beta(-1.0, 1.0, (2,))", "chisquare(-1.0, (2,))")),
    *(f"names({blocks})" for blocks in (
        "nn.Dense(2), nn.Conv2D(2, 2), nn.MaxPool2D(), nn.BatchNorm(), rnn.LSTM(3), nn.Conv1D(2, 2), nn.Conv2DTranspose(2, 2)",
        "rnn.RNNCell(2), rnn.LSTMCell(2), rnn.GRUCell(2), rnn.RNN(2), rnn.GRU(2), nn.GlobalAvgPool2D(), nn.PReLU(), nn.Embedding(2, 3)",
        "nn.Activation('relu'), nn.Activation('tanh'), rnn.DropoutCell(0.5), nn.Dropout(0.5)")),
    "list(Shared(prefix='b_', params=Shared(prefix='a_').collect_params()).collect_params())",
    "nn.HybridLambda(lambda F, x: F.npx.relu(x) + F.np.exp(x))(p)", "nn.Lambda(lambda x: x + 1)(p)",
    *(f"repr({block})" for block in ("nn.Lambda('tanh')", "nn.HybridLambda('tanh')", "nn.Lambda(lambda x: x)", "nn.GlobalAvgPool2D(layout='NCHW')",
                                     "nn.GlobalMaxPool1D(layout='NCW')")),
    *(f"[int(v) for v in gluon.data.SimpleDataset(list(range(7))){part}]" for part in (
        ".filter(lambda v: v % 2)", ".take(3)", ".take(None)", ".take(20)", ".shard(3, 0)", ".shard(3, 2)", ".transform(lambda v: v + 1, lazy=False)",
        ".sample(gluon.data.SequentialSampler(2, 3))", ".take(5).filter(lambda v: v > 1).shard(2, 1)")),
    "hooked()", "str(npx.cpu(1))",
    # Losses, and initialisers by the quantiles of what they draw.
    "of_nd(gluon.loss.HuberLoss(), p, p * 3)", "of_nd(gluon.loss.HuberLoss(0.3, 2.0), x, x * p, np.ones((2, 1, 1)) * 3)",
    "of_nd(gluon.loss.HuberLoss(2, batch_axis=1), x, x * p)", "of_nd(gluon.loss.HuberLoss(), p, (p + 1).reshape(4, 3))",
    "gradient(lambda a: of_nd(gluon.loss.HuberLoss(0.7), a, p), p * np.array([0.5, 1, 2, 3]))",
    *(f"step_of_nd(lambda: rnn.{cell}, p, {states})" for cell, states in (
        ("RNNCell(2)", 1), ("RNNCell(2, activation='relu')", 1), ("RNNCell(2, activation='sigmoid')", 1), ("LSTMCell(2)", 2), ("GRUCell(2)", 1))),
    *(f"drawn(init.{initialiser}, {shape})" for initialiser in (
        "Xavier()", "Xavier('gaussian', 'in', 2)", "Xavier(factor_type='out', magnitude=2.24)", "MSRAPrelu()", "MSRAPrelu('in', 0.5)",
        "MSRAPrelu('out', slope=0)", "Uniform(0.3)", "Normal(0.3)") for shape in ("(900, 500)", "(200, 300, 3, 3)")),
    "drawn('xavier', (900, 500))", "drawn('msraprelu', (900, 500))", "refused(lambda: drawn(init.Xavier(), (3,)))",
    *(f"repr(gluon.loss.{loss})" for loss in (
        "L2Loss()", "L2Loss(weight=2)", "L2Loss(1)", "L1Loss(batch_axis=1)", "HuberLoss(2, 3)", "SoftmaxCrossEntropyLoss()", "SigmoidBCELoss()")),
    *(f"repr(rnn.{layer})" for layer in (
        "LSTM(3)", "GRU(3, 2, input_size=4)", "RNN(3, activation='tanh')", "LSTM(3, 2, 'NTC', 0.3, True)", "LSTMCell(3)", "GRUCell(3, input_size=4)",
        "RNNCell(3)", "RNNCell(3, activation='relu')", "DropoutCell(0.3)", "DropoutCell(0.3, axes=(0,))", "SequentialRNNCell()")),
    *(f"repr([(block.add(rnn.LSTMCell(2)), block.add(rnn.{inner}), block)[2] for block in [rnn.{kind}()]][0])" for kind, inner in (
        ("SequentialRNNCell", "DropoutCell(0.5)"), ("HybridSequentialRNNCell", "GRUCell(3)"), ("SequentialRNNCell", "SequentialRNNCell()"))),
    "names(rnn.SequentialRNNCell(), rnn.HybridSequentialRNNCell())",
    # What the library's functions compute here.
    *(f"layer(nn.Swish({beta}), x * 30)" for beta in (1, 0, -0.7, 3)),
    *(f"gradient(lambda a: npx.layer_norm(a, np.ones({extent}) * 2, np.arange({extent}), axis={axis}, eps=0.1) ** 2, x)" for axis, extent in ((0, 2), (1, 3), (2, 4), (-2, 3))),
    "npx.layer_norm(x.astype('float64') * 1e3 + 1e4, np.ones(4, dtype='float64'), np.zeros(4, dtype='float64'))",
    "[lr_scheduler.CosineScheduler(7, 0.5, 0.01, warmup_steps=2, warmup_begin_lr=0.1)(t) for t in (0, 1, 2, 2.5, 3, 6.9, 7, 9)]",
    "[float(lr_scheduler.CosineScheduler(20, 0.3, 0.01)(t)) for t in np.arange(30)]", "[lr_scheduler.CosineScheduler(1)(t) for t in range(3)]",
    "[lr_scheduler.CosineScheduler(10 ** 9, 1)(t) for t in (1, 123456789, 10 ** 9)]",
    *(f"trained('sgd', {options})" for options in ({"learning_rate": -0.1}, {"learning_rate": 0.1, "wd": 0.1}, {"wd": 0.1, "clip_gradient": 0.2})),
    "one_ulp(np.cbrt(np.array([27, -27, 8, 64, 125, 343, 1e-3, 1e30, -1e-30, 0, 2, 3])))", "one_ulp(np.cbrt(np.arange(1, 2000)))",
    # Methods with the arguments of their functions.
    "p.round(decimals=1)", "(p * 100).round(-1)", "p.round(1, p.copy())", "p.round(out=p.copy())", "gradient(lambda a: a.round(1), p)",
    *(f"np.array([15, 25, -15, 7, 199], dtype='{kind}').round({decimals})" for kind in ("int32", "int64") for decimals in (-2, -1, 0, 1)),
    "p.clip(0.5)", "p.clip(max=1)", "refused(lambda: p.clip(0, 1, dtype='float64'), TypeError)", "refused(lambda: p.copy('F'), NotImplementedError)", "p.clip(0.5, 1, out=p.copy())", "(p > 1).any(0, np.zeros(4, dtype='bool'))", "(p > 0).all(axis=1, keepdims=True)",
    "p.argmax(0, np.zeros(4, dtype='int64'))", "p.argmin(axis=1, out=np.zeros(3, dtype='int64'))", "p.copy('C')", "s.dot(p, out=p.copy())",
    *(f"[batch for batch in gluon.data.DataLoader({data}, num_workers=2, thread_pool=True)]" for data in (
        "gluon.data.ArrayDataset(P, numpy.arange(3)), 2", "numpy.arange(7), 2, prefetch=1", "gluon.data.SimpleDataset([1, 2, 3]), 2, last_batch='discard'",
        "gluon.data.ArrayDataset(numpy.ones((3, 2))).transform_first(lambda v: v + 1), 2")),
]


def space_of(package):
    space = {"numpy": numpy, "json": json, "math": math, "operator": operator}
    exec(f"from {package} import autograd, gluon, init, lr_scheduler, metric, nd, np, npx\nfrom {package}.gluon import nn, rnn\nfrom {package} import image as mx_image\nfrom {package}.gluon.data.vision import transforms\nnpx.set_np()", space)
    exec("""
def gradient(function, a):
    a = a.copy()
    a.attach_grad()
    with autograd.record():
        y = function(a)
    y.backward()
    return a.grad

def changed(function):
    a = edges.copy()
    function(a)
    return a

def filled(block, seed=1):
    values = numpy.random.default_rng(seed)
    for name, p in block.collect_params().items():
        if p.grad_req != "null":
            p.set_data(np.array(values.normal(size=p.shape).astype("float32")))

def written(function, a):
    a = a.copy()
    function(a)[...] = -1
    return a

class Own(nn.Block):
    def __init__(self, bias):
        super().__init__()
        self.weight = self.params.get("weight", shape=(2, 3))
        self.bias = self.params.get("bias", shape=(3,), init=bias)

def begun_within(a):
    a = a.copy()
    a.attach_grad()
    with autograd.record():
        b = a * 2
        b.attach_grad()
        c = (b * b).sum()
    c.backward()
    return a.grad, b.grad

def scored(kind):
    for scale in (1, 2):
        kind.update(np.array([0, 3, 1]), npx.softmax(p * scale))
    return list(kind.get())

def made(initialiser, bias=None):
    block = Own(bias)
    block.initialize(*([] if initialiser is None else [initialiser]))
    return block.weight.data(), block.bias.data()

def trained(name, options):
    net = nn.Dense(1, in_units=4)
    net.initialize()
    filled(net)
    trainer = gluon.Trainer(net.collect_params(), name, options)
    for _ in range(3):
        with autograd.record():
            l = gluon.loss.L2Loss()(net(p), np.ones((3, 1)))
        l.backward()
        trainer.step(3)
    return np.concatenate([net.weight.data().reshape(-1), net.bias.data()])

bytes_ = np.array(numpy.random.default_rng(4).integers(0, 256, (13, 17, 3)).astype("uint8"))
image = np.array(numpy.random.default_rng(3).normal(size=(2, 2, 6, 7)).astype("float32"))

def one_step(function, a):
    with autograd.record():
        y = function(a).sum()
    y.backward()

def grown(change):
    q = gluon.Parameter("w", shape=(2,))
    q.initialize(init.One())
    change(q)
    for factor in (2, 3):
        one_step(lambda a: a * factor, q.data())
    return q.grad()

def marked(grad_req):
    a, g = np.ones(2), np.ones(2) * 7
    autograd.mark_variables([a], [g], grad_req)
    for factor in (2, 3):
        one_step(lambda b: b * factor, a)
    return g, a.grad

def begun(grad_req):
    a = np.ones(2)
    a.attach_grad(grad_req)
    g = a.grad
    g[:] = 5
    one_step(lambda b: b * 2, a)
    first = g.copy()
    a.grad[:] = 9
    one_step(lambda b: b * 3, a)
    return first, g, a.grad

def stepped(name, options, start=(3.0, -2, 0.1)):
    q = gluon.Parameter("w", shape=(3,))
    q.initialize(init.One())
    q.set_data(np.array(start))
    trainer = gluon.Trainer({"w": q}, name, options)
    for _ in range(3):
        one_step(lambda a: a * np.array([0.3, -3, 2.0]), q.data())
        trainer.step(1)
    return q.data()

def unhooked():
    layer, calls = nn.Flatten(), []
    handles = [layer.register_forward_pre_hook(lambda block, inputs: calls.append(len(inputs))),
               layer.register_forward_hook(lambda block, inputs, output: calls.append(output.shape))]
    layer(p)
    for handle in handles:
        handle.detach()
        layer(p)
    with layer.register_forward_hook(lambda *_: calls.append("within")):
        layer(p)
    layer(p)
    return [str(call) for call in calls]

def refused(function, error=ValueError):
    try:
        function()
    except error:
        return True
    return False

def names(*blocks):
    found = []
    for block in blocks:
        found += ["".join(c for c in name if not c.isdigit()) for name in block.collect_params()]
        found.append("".join(c for c in block.prefix if not c.isdigit()))
    return found

class Shared(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(3)
            self.conv = nn.Conv2D(2, 2)

def drawn(initialiser, shape):
    npx.random.seed(1)
    weight = gluon.Parameter("weight", shape=shape)
    weight.initialize(initialiser)
    return {"quantiles": numpy.quantile(weight.data().asnumpy(), [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]).tolist()}

def of_nd(function, *arrays):
    npx.reset_np()  # for what MXNet computes of its older arrays alone
    try:
        found = function(*(a.as_nd_ndarray() for a in arrays))
    finally:
        npx.set_np()
    return [a.as_np_ndarray() for a in found] if isinstance(found, list) else found.as_np_ndarray()

def step_of_nd(make, a, states):
    rows = {"RNNCell": 2, "GRUCell": 6, "LSTMCell": 8}
    values = numpy.random.default_rng(3)
    drawn = [values.normal(size=(3, 2)) for _ in range(states)]
    def step(x, *begin):
        cell = make()
        cell.initialize()
        count = rows[type(cell).__name__]
        cell(x, list(begin))
        for name, shape in (("i2h_weight", (count, 4)), ("h2h_weight", (count, 2)), ("i2h_bias", (count,)), ("h2h_bias", (count,))):
            getattr(cell, name).set_data(np.array(values.normal(size=shape).astype("float32")).as_nd_ndarray())
        for one in (x, *begin):
            one.attach_grad()
        with autograd.record():
            y, after = cell(x, list(begin))
            for state in after:
                y = y * 2 + state
        y.backward()
        return [y, x.grad, *(one.grad for one in begin), cell.i2h_weight.grad(), cell.h2h_weight.grad(), cell.i2h_bias.grad(), cell.h2h_bias.grad()]
    return of_nd(step, a.copy(), *(np.array(one.astype("float32")) for one in drawn))

def one_ulp(a):
    return {"one_ulp": a.tolist()}

def hooked():
    calls, block = [], nn.Lambda(lambda x: x + 1)
    block.register_forward_pre_hook(lambda block, inputs: calls.append(len(inputs)))
    block.register_forward_hook(lambda block, inputs, output: calls.append(output.tolist()))
    block(np.ones(2))
    return calls

def layer(block, inputs=None):
    inputs = x if inputs is None else inputs
    block.initialize()
    block(inputs)
    filled(block)
    a = inputs.copy()
    a.attach_grad()
    with autograd.record(train_mode=not isinstance(block, nn.Dropout)):
        y = block(a)
        l = (y * y).sum()
    l.backward()
    grads = [q.grad().reshape(-1) for q in block.collect_params().values() if q.grad_req != "null"]
    return np.concatenate([y.reshape(-1), a.grad.reshape(-1), block(inputs).reshape(-1), *grads])
""", space)
    exec(SETUP, space)
    return space


def described(value):
    """A value as JSON can hold it: arrays with their type."""
    if hasattr(value, "asnumpy"):
        array = value.asnumpy()
        return {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.astype("float64").reshape(-1).tolist()}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    return value.item() if isinstance(value, numpy.generic) else value


def evaluated(package):
    space, results = space_of(package), {}
    for expression in EXPRESSIONS:
        try:
            results[expression] = described(eval(expression, space))
        except Exception as error:
            results[expression] = {"raised": f"{type(error).__name__}: {error}"[:200]}
    return results


if __name__ == "__main__":
    print(json.dumps(evaluated({"mxnet": "mxnet", "asyncgrad": "asyncgrad.mxnet"}[sys.argv[1]])))
