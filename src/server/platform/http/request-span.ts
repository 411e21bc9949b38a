import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Tracing } from '../tracing/tracing-types.ts';

/** Handles a request inside a span of its own, which continues the caller's trace. Costs nothing where traces are off. */
export function traceRequest(
  tracing: Tracing,
  request: IncomingMessage,
  response: ServerResponse,
  handle: () => void,
): void {
  const { method = 'GET', headers } = request;
  const span = tracing.start({ name: method, kind: 'server', parent: headers.traceparent as string | undefined });
  if (span === undefined) {
    handle();
    return;
  }
  const [target = '', query] = (request.url ?? '').split('?', 2);
  // The token of a share link is all that is needed to watch the video.
  const path = target.replace(/^\/s\/[^/]+/, '/s/{token}');
  // A query may have a key in it.
  span.set({
    'http.request.method': method,
    'url.path': path,
    ...(query === undefined ? {} : { 'url.query': 'REDACTED' }),
  });
  span.rename(`${method} ${firstSegments(path)}`);
  response.once('close', () => {
    span.set({ 'http.response.status_code': response.statusCode });
    span.end(response.statusCode >= 500 ? String(response.statusCode) : undefined);
  });
  tracing.run(span, handle);
}

/** Enough to tell endpoints apart, without ids: a name of a span has few values. */
const firstSegments = (path: string): string =>
  path
    .split('/')
    .slice(0, 4)
    .map((segment) => (/\d|[A-Z_]{2}|.{25}/.test(segment) && !/^v\d/.test(segment) ? '{id}' : segment))
    .join('/');
