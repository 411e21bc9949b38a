import type { SimulatorRequest } from '../define-simulator.ts';

/**
 * What a test may write into the text it sends, as `[name=number]`:
 * - `chunks`: how many words to send (default 12); `delay`: milliseconds between them; `wait`: milliseconds before the first
 * - `cut`: break the connection after so many words; `stop`: end the response there without an error; `silent`: send nothing
 *   after them but keep the connection; `error`: send an error event after them; `garbage`: send an event that is no JSON
 * - `big`: every word has so many thousand letters; `tag`: a number under which `wordsSentFor` counts the words sent
 * - `tools`: how many calls to make at once of the functions offered (default 1)
 * - `call=Name`: which of the functions to call, for programs that offer many
 * - `usage=0`: report no usage; `usage=-1`: report negative usage; `usage=2`: report absurdly large usage
 */
export type Directives = (name: string) => number | undefined;

export function parseDirectives(request: SimulatorRequest): Directives {
  const found = new Map<string, number>();
  for (const [, name = '', value] of request.body.toString('latin1').matchAll(/\[([a-z]{3,8})=(-?\d{1,6})\]/g))
    found.set(name, Number(value));
  return (name) => found.get(name);
}

/** The function to call by `[call=Name]`; undefined: the first one offered. */
export const wantedFunction = ({ body }: SimulatorRequest): string | undefined =>
  /\[call=([A-Za-z_]{1,64})\]/.exec(body.toString('latin1'))?.[1];
