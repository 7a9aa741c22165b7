// SPDX-License-Identifier: Apache-2.0
// Mirror maps in double precision, as the program has them: phi, phi^-1, a term of the Bregman
// divergence and the projection of scores onto the simplex (src/map/potential.inc, bregman.c,
// simplex.inc; the reasons for the forms are there).
//
// Everything is anchored: y = x - phi^-1(1), so that phi(0) = 1. A map is an object with
//
//   kind
//   anchor      phi^-1(1)
//   at(y)       { p, slope, left, right }: phi, its slope, and how far y may move with phi straight
//   rough(y)    the same, good enough for a picture
//   inverse(p)  phi^-1(p) - phi^-1(1)
//   gap(p, q)   one term of D_h(p, q)
//   psi, n      of a piecewise map

const EPSILON = 2 ** -52;
const UNITS = 126, BLOCK = 21, LOG_OFFSET = 1e-3;

// Gauss-Legendre rule with 12 points on [0, 1]
const GAUSS_NODE = [
  0.009219682876640375, 0.04794137181476257, 0.11504866290284765, 0.2063410228566913,
  0.3160842505009099, 0.43738329574426554, 0.5626167042557345, 0.6839157494990901,
  0.7936589771433087, 0.8849513370971523, 0.9520586281852375, 0.9907803171233597
];
const GAUSS_WEIGHT = [
  0.023587668193255914, 0.05346966299765921, 0.08003916427167311, 0.10158371336153296,
  0.1167462682691774, 0.12457352290670139, 0.12457352290670139, 0.1167462682691774,
  0.10158371336153296, 0.08003916427167311, 0.05346966299765921, 0.023587668193255914
];

// The integral of (1 - t) f(t) over [0, 1].
function gaussTail(f) {
  let sum = 0;
  for (let i = 0; i < GAUSS_NODE.length; i++)
    sum += GAUSS_WEIGHT[i] * (1 - GAUSS_NODE[i]) * f(GAUSS_NODE[i]);
  return sum;
}

// a b + c with one rounding where that matters, next to a kink: the product is split exactly.
function fma(a, b, c) {
  const split = 134217729, a1 = split * a, b1 = split * b;
  const ah = a1 - (a1 - a), al = a - ah, bh = b1 - (b1 - b), bl = b - bh;
  const high = a * b, low = ((ah * bh - high) + ah * bl + al * bh) + al * bl;
  const sum = high + c;
  return Number.isFinite(low) ? sum + low : sum;
}

// ---------------------------------------------------------------------------------------------
// Terms of divergences, without cancellation

// p log(p / q) - (p - q): the term of phi^-1 = log.
function logGap(p, q) {
  const d = p - q;
  if (q === 0) return p > 0 ? Infinity : 0;
  if (p === 0) return q;
  if (Math.abs(d) >= 0.5 * q) return p * (Math.log(p) - Math.log(q)) - d;
  const t = d / q;
  return d * t * gaussTail((s) => 1 / (1 + t * s));
}

// (p^k - q^k - k q^(k-1) (p - q)) / (k - 1): the term of phi^-1 = k x^(k-1) / (k-1).
function powerGap(p, q, k) {
  const d = p - q;
  if (q === 0) return p === 0 ? 0 : k > 1 ? p ** k / (k - 1) : Infinity;
  if (p === 0) return q ** k;
  if (Math.abs(d) < 0.5 * q / Math.max(1, Math.abs(k - 2))) {
    const t = d / q;
    return k * q ** k * t * t * gaussTail((s) => (1 + t * s) ** (k - 2));
  }
  const q1 = q ** (k - 1);
  if (Math.abs(k - 1) > 0.1) return (p * p ** (k - 1) - k * p * q1) / (k - 1) + q * q1;
  return q1 * (p * (Math.expm1((k - 1) * (Math.log(p) - Math.log(q))) / (k - 1)) - d);
}

// (e^v - 1 - v) / v^2: the term of phi^-1 = exp.
function expGap(v) {
  if (Math.abs(v) >= 0.5) return (Math.expm1(v) - v) / (v * v);
  return gaussTail((s) => Math.exp(v * s));
}

// ---------------------------------------------------------------------------------------------
// Kinds with a formula

// A point of a phi that is nowhere straight.
const point = (p, slope) => ({p, slope, left: 0, right: 0});

function negentropyMap() {
  const at = (y) => point(Math.exp(y), Math.exp(y));
  return {kind: "negentropy", anchor: 0, at, rough: at, inverse: (p) => Math.log(p), gap: logGap};
}

function l2Map() {
  const at = (y) => point(1 + y, 1);
  return {
    kind: "l2",
    anchor: 1,
    at,
    rough: at,
    inverse: (p) => p - 1,
    gap: (p, q) => 0.5 * (p - q) * (p - q)
  };
}

function tsallisMap(q) {
  const order = q - 1, ratio = q / order;
  const at = (y) => {
    const t = y / ratio, base = 1 + t;
    if (!(base > 0)) return point(order < 0 ? Infinity : 0, 0);
    const p = Math.exp(Math.log1p(t) / order);
    return point(p, p / (q * base));
  };
  return {
    kind: "tsallis",
    q,
    anchor: ratio,
    at,
    rough: at,
    inverse: (p) => ratio * Math.expm1(order * Math.log(p)),
    gap: (p, r) => powerGap(p, r, q)
  };
}

// ---------------------------------------------------------------------------------------------
// Piecewise

// The last index below `n` whose entry in the ascending list is not beyond y.
function lastNotBeyond(list, n, y) {
  let low = 0, high = n - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (list[mid] <= y) low = mid;
    else high = mid - 1;
  }
  return low;
}

function piecewiseMap(psi) {
  const n = psi.length, depth = new Float64Array(n + 1);
  for (let j = n - 1; j >= 0; j--)
    depth[j] = depth[j + 1] - psi[j];  // s_j - W, summed from the top
  const at = (y) => {
    if (!(y < 0)) return {p: y >= 0 ? 1 : y, slope: 0, left: -y, right: Infinity};
    if (y < depth[0]) return {p: 0, slope: 0, left: -Infinity, right: depth[0] - y};
    const j = lastNotBeyond(depth, n, y), left = depth[j] - y, steep = 1 / psi[j];
    return {
      p: (j + Math.min(-left * steep, 1)) / n,
      slope: steep / n,
      left,
      right: depth[j + 1] - y
    };
  };
  const inverse = (p) => {
    if (p >= 1) return p - 1;  // the continuation of slope 1
    const j = Math.min(p > 0 ? Math.floor(p * n) : 0, n - 1);
    return depth[j] + Math.max(p * n - j, 0) * psi[j];
  };
  const gap = (p, q) => {
    const low = Math.min(p, q), high = Math.max(p, q);
    let sum = 0, j = Math.floor(low * n);
    if (j > 0 && j / n > low) j--;  // the product was rounded up
    for (; j < n && j / n < high; j++) {
      const left = Math.max(low, j / n), right = Math.min(high, (j + 1) / n);
      if (right > left) sum += psi[j] * (right - left) * (Math.abs(p - left) + Math.abs(p - right));
    }
    return 0.5 * n * sum;
  };
  return {
    kind: "piecewise",
    psi,
    n,
    depth,
    anchor: psi.reduce((s, v) => s + v, 0),
    at,
    rough: at,
    inverse,
    gap
  };
}

// ---------------------------------------------------------------------------------------------
// Neural

function unitValue(block, z) {
  const t = z > 0 ? z : 0;
  switch (block) {
    case 0:
      return z * z * z;
    case 1:
      return t * t;
    case 2:
      return Math.sqrt(t);
    case 3:
      return Math.cbrt(t);
    case 4:
      return Math.log(t + LOG_OFFSET);
    default:
      return Math.exp(z);
  }
}

// Its derivative, where s is its value.
function unitSlope(block, z, s) {
  if (block === 0) return 3 * z * z;
  if (block === 5) return s;
  if (!(z > 0)) return 0;
  return block === 1 ? 2 * z
    : block === 2    ? 0.5 / s
    : block === 3    ? s / (3 * z)
                     : 1 / (z + LOG_OFFSET);
}

// A unit that is constant left of its kink z = 0.
function kinkedGap(block, zp, zq, d, w) {
  if (zp <= 0 && zq <= 0) return 0;
  const offset = block === 4 ? LOG_OFFSET : 0, k = block === 1 ? 3 : block === 2 ? 1.5 : 4 / 3;
  const end = Math.max(zp, 0) + offset, start = Math.max(zq, 0) + offset;
  if (zp > 0 && zq > 0 && w * Math.abs(d) < 0.01 * start)
    return d * d * w * gaussTail((t) => {
      const z = zq + w * d * t;
      return unitSlope(block, z, unitValue(block, z));
    });
  const gap = block === 4 ? logGap(end, start) : powerGap(end, start, k) * (k - 1) / k;
  const flat = zp < 0 ? (unitValue(block, zq) - unitValue(block, 0)) * -zp : 0;
  return (gap + flat) / w;
}

// The integral of s(w x + c) - s(w q + c) from q to p.
function unitGap(block, w, c, p, q) {
  const d = p - q, zq = fma(w, q, c), zp = fma(w, p, c), v = w * d;
  if (w === 0 || d === 0) return 0;
  if (block === 0) return w * d * d * (1.5 * zq * zq + zq * v + 0.25 * v * v);
  if (block === 5 && v > 1) return (Math.exp(zp) - Math.exp(zq) * (1 + v)) / w;
  if (block === 5) return w * d * d * Math.exp(zq) * expGap(v);
  return kinkedGap(block, zp, zq, d, w);
}

function neuralMap({w, c, u, a, b}) {
  const used = [];
  for (let j = 0; j < UNITS; j++)
    if (u[j] > 0) used.push(j);
  let rise = 0;  // slope of the units where they were last evaluated
  const units = (p) => {
    let sum = 0;
    rise = 0;
    for (const j of used) {
      const block = (j / BLOCK) | 0, z = fma(w[j], p, c[j]), s = unitValue(block, z);
      sum += u[j] * s;
      if (w[j] > 0) rise += u[j] * w[j] * unitSlope(block, z, s);
    }
    return sum;
  };
  const unitsAtOne = units(1), drop = units(0) - unitsAtOne - a, log = b > 0;
  const inverse = (p) => units(p) - unitsAtOne + a * (p - 1) + (log ? b * Math.log(p) : 0);

  // a table for pictures and first guesses, dense towards 0; in log p where there is a logarithm
  const nodes = 2048, table = new Float64Array(nodes + 1), place = new Float64Array(nodes + 1);
  for (let i = 0; i <= nodes; i++) {
    const t = i / nodes;
    place[i] = log ? (i === nodes ? 0 : 40 * (t - 1) * (t - 1) * -1) : t * t * t;
    table[i] = inverse(log ? Math.exp(place[i]) : place[i]);
  }
  // v: log p or p
  const guess = (y) => {
    if (y <= table[0]) return log ? Math.min((y - drop) / b, place[0]) : 0;
    const i = lastNotBeyond(table, nodes, y), width = table[i + 1] - table[i];
    return place[i] +
      (width > 0 ? Math.min((y - table[i]) / width, 1) : 1) * (place[i + 1] - place[i]);
  };
  const rough = (y) => {
    if (y >= 0) return point(1, 0);
    const v = guess(y), h = 1e-4 * Math.max(1e-3, -y);
    const p = log ? Math.exp(v) : v, before = log ? Math.exp(guess(y - h)) : guess(y - h);
    return point(p, (p - before) / h);
  };
  // bracketed Newton in log p (in p without a logarithm)
  const at = (y) => {
    if (y >= 0) return point(1, 0);
    const found = point(0, 0);
    let low = 0, high = 1;
    if (log) {
      low = Math.max(y / b, -746);
      high = Math.min((y - drop) / b, 0);
      if (high <= -746) return found;
    } else if (y <= drop) return found;
    let v = Math.min(Math.max(guess(y), low), high), last = Infinity;
    for (let k = 0; k < 200; k++) {
      const p = log ? Math.exp(v) : v;
      const excess = units(p) - unitsAtOne + a * (p - 1) + (log ? b * v - y : -y), steep = rise + a;
      found.p = p;
      found.slope = log ? p / (p * steep + b) : steep > 0 ? 1 / steep : 0;
      if (excess === 0) break;
      if (excess > 0) high = v;
      else low = v;
      const step = excess / (log ? p * steep + b : steep),
            least = 0.5 * EPSILON * Math.max(Math.abs(v), log ? 1 : 0);
      if (Math.abs(step) < least) break;
      let next = v - step;
      if (!(next > low && next < high) || Math.abs(excess) > 0.5 * last)
        next = low + 0.5 * (high - low);
      last = Math.abs(excess);
      if (next === v || next <= low || next >= high) break;
      v = next;
    }
    return found;
  };
  const gap = (p, q) => {
    let sum = log ? b * logGap(p, q) : 0;
    for (const j of used) sum += u[j] * unitGap((j / BLOCK) | 0, w[j], c[j], p, q);
    return sum + 0.5 * a * (p - q) * (p - q);
  };
  return {kind: "neural", anchor: units(1) + a, at, rough, inverse, gap};
}

// ---------------------------------------------------------------------------------------------
// Powers: phi^-1(p) = sum_k w_k (p^a_k - 1) / a_k, the term log p where a_k = 0

const MOST_TERMS = 8;

function powersMap(weights, exponents) {
  const terms = weights.map((w, k) => ({w, a: exponents[k]})).filter(({w}) => w > 0);
  const end = (sign) =>
    terms.reduce((s, {w, a}) => s + (sign * a > 0 ? -w / a : -sign * Infinity), 0);
  const bottom = end(1), top = end(-1);  // phi is 0 up to the one and infinite from the other on
  const sum = (logP) =>
    terms.reduce((s, {w, a}) => s + w * (a ? Math.expm1(Math.min(a * logP, 80)) / a : logP), 0);
  const rise = (logP) => terms.reduce((s, {w, a}) => s + w * Math.exp(Math.min(a * logP, 80)), 0);
  // the log p at which one of the terms alone is y: the largest for y < 0, the least for y > 0
  const alone = (y) => {
    const places = terms.filter(({w, a}) => a * (y / w) > -1).map(({w,
      a}) => (a ? Math.log1p(a * (y / w)) / a : y / w));
    return y < 0 ? Math.max(-746, ...places) : Math.min(710, ...places);
  };
  // Newton in log p. All terms have the sign of y: none is beyond y, and one is at least its n-th
  // part, which bounds the root.
  const at = (y) => {
    if (y <= bottom) return point(0, 0);
    if (y >= top) return point(Infinity, 0);
    const far = alone(y), near = alone(y / terms.length);
    let [low, high] = y < 0 ? [far, near] : [near, far], v = near;
    for (let k = 0; k < 200; k++) {
      const excess = sum(v) - y, step = excess / rise(v);
      if (excess === 0) break;
      if (excess > 0) high = v;
      else low = v;
      if (Math.abs(step) < 0.5 * EPSILON * Math.max(Math.abs(v), 1)) break;
      let next = v - step;
      if (!(next >= low && next <= high)) next = low + 0.5 * (high - low);
      if (next === v) break;
      v = next;
    }
    const p = Math.exp(v);
    return point(p, p / rise(v));
  };
  // of a = -1, where phi^-1 = 1 - 1 / p, with p and q exchanged
  const termGap = (a, p, q) => {
    if (a === 0) return logGap(p, q);
    if (a === -1) return q > 0 ? logGap(q, p) / q : p > 0 ? Infinity : 0;
    return powerGap(p, q, a + 1) / (a + 1);
  };
  return {
    kind: "powers",
    anchor: 0,
    at,
    rough: at,
    inverse: (p) => (p > 0 ? sum(Math.log(p)) : bottom),
    gap: (p, q) => terms.reduce((s, {w, a}) => s + w * termGap(a, p, q), 0)
  };
}

// ---------------------------------------------------------------------------------------------
// Any kind

const isNumber = (v) => typeof v === "number" && Number.isFinite(v);
const areNumbers = (list, n) => Array.isArray(list) &&
  (n === undefined ? list.length > 0 : list.length === n) && list.every(isNumber);

const arePowers = ({w, a}) => areNumbers(w) && w.length <= MOST_TERMS && areNumbers(a, w.length) &&
  w.every((v) => v >= 0) && w.some((v) => v > 0) && a.every((v) => v >= -1 && v <= 8);

// The map of a map file's contents, or null where they are not such.
function makeMap(file) {
  if (!file) return null;
  if (file.kind === "negentropy") return negentropyMap();
  if (file.kind === "l2") return l2Map();
  if (file.kind === "tsallis" && isNumber(file.q) && file.q > 0 && file.q !== 1)
    return tsallisMap(file.q);
  if (file.kind === "piecewise" && areNumbers(file.psi)) return piecewiseMap(file.psi.slice());
  if (file.kind === "neural" && [file.w, file.c, file.u].every((l) => areNumbers(l, UNITS)) &&
    isNumber(file.a) && isNumber(file.b))
    return neuralMap(file);
  if (file.kind === "powers" && arePowers(file)) return powersMap(file.w, file.a);
  return null;
}

// D_h(p, q) of two policies.
function divergence(map, p, q) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += map.gap(p[i], q[i]);
  return sum;
}

// ---------------------------------------------------------------------------------------------
// From scores to a policy

function totalAt(phi, x, top, u) {
  const sum = {p: 0, slope: 0, left: -Infinity, right: Infinity};
  for (const score of x) {
    const at = phi(u + (score - top));
    sum.p += at.p;
    sum.slope += at.slope;
    sum.left = Math.max(sum.left, at.left);
    sum.right = Math.min(sum.right, at.right);
  }
  return sum;
}

// u = low + offset with phi straight in between, or between the neighbouring numbers low and high.
function solve(map, phi, x, top) {
  const n = x.length, straight = map.kind === "piecewise",
        tolerance = EPSILON * (n > 8 ? n / 4 : 2);
  const margin = straight ? -4 * EPSILON * map.depth[0] : 0;
  let lo = map.inverse(1 / n), hi = 0, u = hi, last = Infinity, lowSeen = false;
  const least = straight ? 0 : -2 * EPSILON * lo;
  let at = totalAt(phi, x, top, hi);
  if (at.p <= 1 + tolerance) return {low: hi, high: hi, offset: 0};
  for (let k = 0; k < 300; k++) {
    const step = (1 - at.p) / at.slope, size = Math.abs(at.p - 1);
    let next = u + step;
    if (Math.abs(step) < least && size <= 16 * tolerance) return {low: u, high: u, offset: 0};
    if (straight && step > at.left + margin && step < at.right - margin && next >= lo)
      return {low: u, high: u, offset: step};
    if (size > 0.125 && at.p > 0) next = u - Math.log(at.p) * at.p / at.slope;
    if (next <= lo && !lowSeen) {
      next = lo;
      lowSeen = true;
    } else if (!(next > lo && next < hi) || size > 0.5 * last) {
      next = lo + 0.5 * (hi - lo);
      if (next <= lo || next >= hi) break;
    }
    last = size;
    at = totalAt(phi, x, top, next);
    u = next;
    if (at.p <= 1 + tolerance && at.p >= 1 - tolerance) return {low: u, high: u, offset: 0};
    if (at.p < 1) lo = next;
    else hi = next;
  }
  return {low: lo, high: hi, offset: 0};
}

function normalise(p) {
  const total = p.reduce((s, v) => s + v, 0);
  return p.map((v) => v / total);
}

function projectL2(x, top) {
  let shift = 1, active = x.length + 1, before;
  do {
    before = active;
    active = 0;
    let sum = 0;
    for (const score of x) {
      const d = score - top;
      if (d + shift > 0) {
        sum += d;
        active++;
      }
    }
    shift = (1 - sum) / active;
  } while (active < before);
  return {
    probs: normalise(x.map((score) => Math.max(score - top + shift, 0))),
    lambda: shift - top
  };
}

// { probs, lambda } with probs_a = max(phi(x_a + lambda), 0) and sum 1.
function project(map, x, rough = false) {
  const top = Math.max(...x);
  if (map.kind === "l2") return projectL2(x, top);
  if (map.kind === "negentropy") {
    const weight = x.map((score) => Math.exp(score - top)),
          total = weight.reduce((s, v) => s + v, 0);
    return {probs: weight.map((v) => v / total), lambda: -(top + Math.log(total))};
  }
  const phi = rough ? map.rough : map.at, root = solve(map, phi, x, top);
  let probs, offset = root.offset;
  if (root.low === root.high) {
    probs = x.map((score) => {
      const at = phi(root.low + (score - top));
      return offset === 0 ? at.p : Math.max(at.p + at.slope * offset, 0);
    });
  } else {
    const below = totalAt(phi, x, top, root.low).p, above = totalAt(phi, x, top, root.high).p;
    const t = Math.min(Math.max(above > below ? (1 - below) / (above - below) : 0, 0), 1);
    probs = x.map((score) => {
      const low = phi(root.low + (score - top)).p;
      return low + t * (phi(root.high + (score - top)).p - low);
    });
    offset = t * (root.high - root.low);
  }
  return {probs: normalise(probs), lambda: map.anchor + (root.low + offset) - top};
}
