import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';

/** Clock ticks per second in /proc (Linux). */
const TICKS = 100;

/**
 * CPU time of a PostgreSQL server on this machine: its main process and every process it has started, including ended
 * ones.
 */
export class PostgresCpu {
  readonly #main: number;

  private constructor(main: number) {
    this.#main = main;
  }

  /** @param client a connection to the server */
  static async find(client: Client): Promise<PostgresCpu> {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new PostgresCpu(Number(statOf(rows[0]?.pid ?? 0)?.[1]));
  }

  seconds(): number {
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    let ticks = 0;
    for (const pid of processes) {
      const stat = statOf(Number(pid));
      if (stat === undefined) continue;
      const isMain = Number(pid) === this.#main;
      if (!isMain && Number(stat[1]) !== this.#main) continue;
      ticks += Number(stat[11]) + Number(stat[12]);
      // Ended children are counted in the process that waited for them.
      if (isMain) ticks += Number(stat[13]) + Number(stat[14]);
    }
    return ticks / TICKS;
  }
}

/**
 * Fields of /proc/PID/stat, starting with the state: 1 is the parent, 11 to 14 are utime, stime, cutime and cstime
 * (proc(5)).
 */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
  } catch {
    return undefined;
  }
}
