/** Facts of a span under their names in OpenTelemetry's semantic conventions. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[]>>;

/** `server`: a request that came in. `client`: one that leaves. `internal`: work of this process. */
export type SpanKind = 'server' | 'client' | 'internal';

export interface SpanOptions {
  readonly name: string;
  readonly kind: SpanKind;
  /** W3C `traceparent` of what caused it; default the span this code runs in. One that is ill-formed counts as none. */
  readonly parent?: string;
  readonly attributes?: SpanAttributes;
}

/** One piece of work in a trace. */
export interface Span {
  /** W3C `traceparent` for what it causes, here or at another service. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** @param errorType a short class of the failure; undefined: it succeeded */
  end(errorType?: string): void;
}

/** Traces of OpenTelemetry, or nothing where they are switched off. */
export interface Tracing {
  /** Whether spans are recorded; hot paths ask before they describe one. */
  readonly isOn: boolean;
  /** Undefined where traces are off, so that nothing is computed for them. */
  start(options: SpanOptions): Span | undefined;
  /** Runs the work inside the span: it is the parent of spans begun there, and requests that leave carry it. */
  run<T>(span: Span | undefined, work: () => T): T;
  /** The same for work that ends later: begins the span and ends it with the work, by the error's name when it throws. */
  trace<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** W3C `traceparent` of the span this code runs in. */
  current(): string | undefined;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/** Traces are off: no SDK is loaded and nothing is recorded. */
export const NO_TRACING: Tracing = {
  isOn: false,
  start: () => undefined,
  run: (_span, work) => work(),
  trace: (_options, work) => work(),
  current: () => undefined,
  close: async () => {},
};

/** Settings under the standard names of OpenTelemetry. */
export interface TracingSettings {
  readonly otelSdkDisabled: boolean;
  /** To which the path of traces is added. */
  readonly otelExporterOtlpEndpoint: string | undefined;
  /** With its path. */
  readonly otelExporterOtlpTracesEndpoint: string | undefined;
  readonly otelExporterOtlpHeaders: string | undefined;
  readonly otelServiceName: string;
  readonly otelResourceAttributes: string | undefined;
  readonly otelTracesSampler: string;
  readonly otelTracesSamplerArg: string | undefined;
}
