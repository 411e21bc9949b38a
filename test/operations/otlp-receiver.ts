import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A span as exported over OTLP. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** OTLP span kind: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly resource: Readonly<Record<string, string | number>>;
}

/** A running collector and the spans it received. */
export interface OtlpReceiver {
  /** Value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Headers of the last export. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Waits for a matching span, at most fifteen seconds. */
  waitFor(holds: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  stop(): Promise<void>;
}

interface Pair {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string; readonly doubleValue?: number };
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Pair[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes' | 'resource'> & {
        readonly attributes: readonly Pair[];
      })[];
    }[];
  }[];
}

/** Starts a trace collector that accepts OTLP over HTTP as JSON and stores the received spans. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => take(request, response, Buffer.concat(chunks).toString()));
  });
  const take = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    headers = request.headers;
    if (request.url === '/v1/traces')
      for (const { resource, scopeSpans } of (JSON.parse(body) as Export).resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            parentSpanId: span.parentSpanId ?? '',
            attributes: toRecord(span.attributes),
            resource: toRecord(resource.attributes),
          });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get headers() {
      return headers;
    },
    async waitFor(holds) {
      for (let tries = 0; tries < 150; tries += 1) {
        const found = spans.find(holds);
        if (found !== undefined) return found;
        await pause(100);
      }
      throw new Error(`no such span among ${spans.map(({ name }) => name).join(', ')}`);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const toRecord = (pairs: readonly Pair[]): Record<string, string | number> =>
  Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ?? (value.intValue === undefined ? Number(value.doubleValue) : Number(value.intValue)),
    ]),
  );
