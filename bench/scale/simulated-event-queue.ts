/** What happens next: a binary heap by time. Events of one time come in any order. */
export class SimulatedEventQueue<T> {
  readonly #times: number[] = [];
  readonly #values: T[] = [];

  get size(): number {
    return this.#times.length;
  }

  push(time: number, value: T): void {
    let place = this.#times.length;
    this.#times.push(time);
    this.#values.push(value);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#timeAt(parent) <= time) break;
      this.#swap(place, parent);
      place = parent;
    }
  }

  /** The earliest event; undefined where there is none. */
  pop(): { readonly time: number; readonly value: T } | undefined {
    const [time, value] = [this.#times[0], this.#values[0]];
    if (time === undefined) return undefined;
    this.#swap(0, this.#times.length - 1);
    this.#times.pop();
    this.#values.pop();
    for (let place = 0; ; ) {
      let least = place;
      for (const child of [2 * place + 1, 2 * place + 2])
        if (child < this.#times.length && this.#timeAt(child) < this.#timeAt(least)) least = child;
      if (least === place) return { time, value: value as T };
      this.#swap(place, least);
      place = least;
    }
  }

  #timeAt(place: number): number {
    return this.#times[place] ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [time, value] = [this.#timeAt(one), this.#values[one] as T];
    this.#times[one] = this.#timeAt(other);
    this.#values[one] = this.#values[other] as T;
    this.#times[other] = time;
    this.#values[other] = value;
  }
}
