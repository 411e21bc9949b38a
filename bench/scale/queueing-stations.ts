/** Something that work waits for. Times are seconds. */
export interface Station {
  readonly name: string;
  /** Takes a piece of work. @param leave called with when it is done */
  enter(now: number, work: Work): void;
  /** Share of its capacity used until a time. */
  utilization(until: number): number;
}

export interface Work {
  readonly seconds: number;
  readonly bytes: number;
  readonly leave: (time: number) => void;
}

export type Schedule = (time: number, run: (time: number) => void) => void;

/** So many cores, and one queue before them, first come first served. */
export class Cores implements Station {
  readonly name: string;
  readonly #count: number;
  readonly #schedule: Schedule;
  readonly #waiting: Work[] = [];
  #head = 0;
  #running = 0;
  #busySeconds = 0;

  constructor(name: string, count: number, schedule: Schedule) {
    this.name = name;
    this.#count = count;
    this.#schedule = schedule;
  }

  enter(now: number, work: Work): void {
    if (this.#running < this.#count) this.#start(now, work);
    else this.#waiting.push(work);
  }

  utilization(until: number): number {
    return this.#busySeconds / (this.#count * until);
  }

  #start(now: number, work: Work): void {
    this.#running++;
    this.#busySeconds += work.seconds;
    this.#schedule(now + work.seconds, (time) => {
      this.#running--;
      const next = this.#waiting[this.#head];
      if (next !== undefined) {
        this.#head++;
        this.#start(time, next);
      }
      this.#forgetStarted();
      work.leave(time);
    });
  }

  /** Removing the first of a long list costs a copy of it, so that many are removed at once. */
  #forgetStarted(): void {
    if (this.#head < 10_000) return;
    this.#waiting.splice(0, this.#head);
    this.#head = 0;
  }
}

/** A write-ahead log: whatever waits is flushed together, which takes as long as the disk needs for a flush and for the bytes. */
export class Log implements Station {
  readonly name: string;
  readonly #flushSeconds: number;
  readonly #bytesPerSecond: number;
  readonly #schedule: Schedule;
  #waiting: Work[] = [];
  #isFlushing = false;
  #bytes = 0;

  constructor(name: string, flushSeconds: number, bytesPerSecond: number, schedule: Schedule) {
    this.name = name;
    this.#flushSeconds = flushSeconds;
    this.#bytesPerSecond = bytesPerSecond;
    this.#schedule = schedule;
  }

  enter(now: number, work: Work): void {
    this.#waiting.push(work);
    if (!this.#isFlushing) this.#flush(now);
  }

  /** Of its bandwidth: it flushes all the time under load, with more in each flush. */
  utilization(until: number): number {
    return this.#bytes / (this.#bytesPerSecond * until);
  }

  #flush(now: number): void {
    const together = this.#waiting;
    this.#waiting = [];
    this.#isFlushing = true;
    const bytes = together.reduce((sum, work) => sum + work.bytes, 0);
    this.#bytes += bytes;
    this.#schedule(now + this.#flushSeconds + bytes / this.#bytesPerSecond, (time) => {
      this.#isFlushing = false;
      if (this.#waiting.length > 0) this.#flush(time);
      for (const { leave } of together) leave(time);
    });
  }
}
