// What a part of the page shows, as a handful of checked values that also stand in the address.
//
// Text from the address only ever becomes a number in range or one of the words listed here. Whatever else it holds
// falls back to the default.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const LONGEST = 4000; // characters of an address that are read

function readNumber(text) {
  return NUMBER.test(text) ? Number(text) : NaN;
}

function writeNumber(value) {
  return String(Number(value.toPrecision(6)));
}

/** A number from low to high. */
export function number(initial, low, high) {
  return {
    initial,
    low,
    high,
    valid: (value) => Number.isFinite(value) && value >= low && value <= high,
    read: readNumber,
    write: writeNumber,
  };
}

/** A whole number from low to high. */
export function whole(initial, low, high) {
  const type = number(initial, low, high);
  return { ...type, valid: (value) => Number.isInteger(value) && type.valid(value) };
}

/** One of a few words or numbers. */
export function choice(initial, options) {
  return {
    initial,
    options,
    valid: (value) => options.includes(value),
    read: (text) => options.find((option) => String(option) === text),
    write: String,
  };
}

/** Yes or no. */
export function flag(initial) {
  return {
    ...choice(initial, [true, false]),
    read: (text) => ({ 1: true, 0: false })[text],
    write: (v) => (v ? "1" : "0"),
  };
}

/** Some of a few words, in their order; at least one. */
export function some(initial, options) {
  return {
    initial,
    options,
    valid: (value) => value.length > 0 && value.every((word) => options.includes(word)),
    read: (text) => options.filter((option) => text.split(",").includes(option)),
    write: (value) => value.join(","),
  };
}

/** Two numbers from low to high. */
export function pair(initial, low, high) {
  return {
    initial,
    low,
    high,
    valid: (value) => value.length === 2 && value.every((v) => Number.isFinite(v) && v >= low && v <= high),
    read: (text) => text.split(",").map(readNumber),
    write: (value) => value.map(writeNumber).join(","),
  };
}

/** A short list of different whole numbers from 0 on. */
export function places(most, high) {
  return {
    initial: [],
    valid: (value) =>
      value.length <= most &&
      new Set(value).size === value.length &&
      value.every((v) => Number.isInteger(v) && v >= 0 && v < high),
    read: (text) => text.split(".").map(readNumber),
    write: (value) => value.join("."),
  };
}

/** A short list of labelled points `[x1, x2, label]`, each coordinate within `reach`. */
export function labelled(most, reach) {
  return {
    initial: [],
    valid: (value) =>
      value.length <= most &&
      value.every(([a, b, y]) => Math.abs(a) <= reach && Math.abs(b) <= reach && (y === 1 || y === -1)),
    read: (text) => text.split(";").map((point) => point.split(",").map(readNumber)),
    write: (value) => value.map((point) => point.map(writeNumber).join(",")).join(";"),
  };
}

/** The values of one part, their defaults, and their form in the address. */
export class State {
  constructor(schema) {
    this.schema = schema;
    this.listeners = [];
    this.values = this.defaults();
  }

  defaults() {
    return Object.fromEntries(Object.entries(this.schema).map(([key, type]) => [key, type.initial]));
  }

  /** Change some values. What is not allowed is ignored. */
  set(changes) {
    const allowed = Object.entries(changes).filter(([key, value]) => this.schema[key].valid(value));
    this.replace({ ...this.values, ...Object.fromEntries(allowed) });
  }

  reset() {
    this.replace(this.defaults());
  }

  replace(values) {
    const before = this.values;
    this.values = values;
    const changed = Object.keys(values).filter((key) => values[key] !== before[key]);
    if (changed.length) this.listeners.forEach((listener) => listener(changed));
  }

  /** Take the values from the query of an address; those missing or bad become defaults. */
  read(query) {
    const values = this.defaults();
    for (const [key, text] of new URLSearchParams(query.slice(0, LONGEST))) {
      if (!Object.hasOwn(this.schema, key)) continue;
      const value = this.schema[key].read(text);
      if (value !== undefined && this.schema[key].valid(value)) values[key] = value;
    }
    this.replace(values);
  }

  /** The query of an address: what differs from the defaults. */
  write() {
    return Object.entries(this.schema)
      .filter(([key, type]) => type.write(this.values[key]) !== type.write(type.initial))
      .map(
        ([key, type]) =>
          `${key}=${encodeURIComponent(type.write(this.values[key])).replaceAll("%2C", ",").replaceAll("%3B", ";")}`,
      )
      .join("&");
  }
}
