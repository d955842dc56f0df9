// Numbers that look random and are the same for the same seed, and the points drawn with them.

/** A small generator of uniform numbers (mulberry32), good enough for pictures. */
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  draws(n) {
    return Array.from({ length: n }, () => this.next());
  }

  permutation(n) {
    const order = Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

/** Points of two round clouds, as in the toy stream: `{ x, y }` with y the true label. */
export function clouds(n, random) {
  return Array.from({ length: n }, () => {
    const y = random.next() < 0.5 ? -1 : 1;
    return { x: [1.2 * y + random.normal(), 0.8 * y + random.normal()], y };
  });
}

/** The toy stream, continued from the same two clouds where more than its 40 points are wanted. */
export function toyStream(toy, n) {
  const first = toy.slice(0, n).map(([a, b, y]) => ({ x: [a, b], y }));
  return [...first, ...clouds(Math.max(0, n - first.length), new Random(40))];
}

/** Points that no straight line separates. */
export const SHAPES = {
  rings(n, random) {
    return Array.from({ length: n }, () => {
      const y = random.next() < 0.5 ? 1 : -1;
      const radius = (y > 0 ? 0.9 : 2.6) + 0.4 * random.normal();
      const angle = 2 * Math.PI * random.next();
      return { x: [radius * Math.cos(angle), radius * Math.sin(angle)], y };
    });
  },
  moons(n, random) {
    return Array.from({ length: n }, () => {
      const y = random.next() < 0.5 ? 1 : -1;
      const angle = Math.PI * random.next();
      const x = [2 * Math.cos(angle) - 1, 2 * Math.sin(angle) - 0.6].map((value) => y * value);
      return { x: x.map((value) => value + 0.35 * random.normal()), y };
    });
  },
  board(n, random) {
    return Array.from({ length: n }, () => {
      const x = [6 * random.next() - 3, 6 * random.next() - 3];
      const cells = x.map((value) => Math.floor((value + 3) / 2));
      return { x, y: (cells[0] + cells[1]) % 2 === 0 ? 1 : -1 };
    });
  },
  clouds,
};
