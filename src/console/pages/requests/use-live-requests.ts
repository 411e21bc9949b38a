import { useEffect, useState } from 'react';
import {
  followRequestLog,
  type RequestEntry,
  type RequestFilter,
  type RequestScope,
} from '../../data/request-log-queries.ts';

/** More than anybody reads; older ones are on the next page. */
const MAX_ROWS = 200;

/** Calls that ended since the view was switched on, newest first, and why it ended. */
export function useLiveRequests(
  scope: RequestScope,
  filter: RequestFilter,
  enabled: boolean,
): { readonly rows: readonly RequestEntry[]; readonly error: unknown } {
  const [rows, setRows] = useState<readonly RequestEntry[]>([]);
  const [error, setError] = useState<unknown>();
  const key = JSON.stringify(filter);
  useEffect(() => {
    setRows([]);
    setError(undefined);
    if (!enabled) return;
    const controller = new AbortController();
    const { signal } = controller;
    const follow = async (): Promise<void> => {
      for await (const row of followRequestLog(scope, JSON.parse(key) as RequestFilter, signal))
        setRows((known) => [row, ...known].slice(0, MAX_ROWS));
    };
    follow().catch((failure: unknown) => {
      if (!signal.aborted) setError(failure);
    });
    return () => controller.abort();
  }, [scope, key, enabled]);
  return { rows, error };
}
