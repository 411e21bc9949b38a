/** Something that stands on a roll, and where. */
export interface Enrolled {
  place: number;
}

/**
 * What is under way just now, in no order. A `Set` would do the same, but one that changes all the time makes itself a new
 * table again and again, and a former table that has grown old keeps the new one from being collected, and all that is
 * in it: every call would live until the whole heap is gone through.
 */
export class Roll<T extends Enrolled> implements Iterable<T> {
  readonly #all: T[] = [];

  add(item: T): void {
    item.place = this.#all.length;
    this.#all.push(item);
  }

  /** Does nothing where it is not on the roll. */
  remove(item: T): void {
    if (this.#all[item.place] !== item) return;
    const last = this.#all.pop();
    if (last === undefined || last === item) return;
    this.#all[item.place] = last;
    last.place = item.place;
  }

  [Symbol.iterator](): IterableIterator<T> {
    // A visit may end what it visits.
    return [...this.#all].values();
  }
}
