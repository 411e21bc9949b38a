/** Attributes of a span under their names in OpenTelemetry's semantic conventions. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[]>>;

/** `server`: an incoming request. `client`: an outgoing request. `internal`: work of this process. */
export type SpanKind = 'server' | 'client' | 'internal';

/** Options of a new span. */
export interface SpanOptions {
  readonly name: string;
  readonly kind: SpanKind;
  /** W3C `traceparent` of the cause; default: the current span. A malformed one is ignored. */
  readonly parent?: string;
  readonly attributes?: SpanAttributes;
}

/** A unit of work in a trace. */
export interface Span {
  /** W3C `traceparent` for work this span causes, here or in another service. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** @param errorType a short class of the failure; undefined: success */
  end(errorType?: string): void;
}

/** OpenTelemetry tracing, or a no-op when it is switched off. */
export interface Tracing {
  /** Whether spans are recorded; hot paths check this before they describe one. */
  readonly isOn: boolean;
  /** Undefined when tracing is off, so that callers compute nothing for it. */
  start(options: SpanOptions): Span | undefined;
  /**
   * Runs the work inside the span, which becomes the parent of spans started there and is sent with outgoing requests.
   */
  run<T>(span: Span | undefined, work: () => T): T;
  /** Starts a span for asynchronous work and ends it with the work, named after the error when the work throws. */
  trace<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** W3C `traceparent` of the current span. */
  current(): string | undefined;
  /** Sends the spans that are still pending. */
  close(): Promise<void>;
}

/** Tracing is off: no SDK is loaded and nothing is recorded. */
export const NO_TRACING: Tracing = {
  isOn: false,
  start: () => undefined,
  run: (_span, work) => work(),
  trace: (_options, work) => work(),
  current: () => undefined,
  close: async () => {},
};

/** Settings under OpenTelemetry's standard names. */
export interface TracingSettings {
  readonly otelSdkDisabled: boolean;
  /** The path for traces is appended to this URL. */
  readonly otelExporterOtlpEndpoint: string | undefined;
  /** Complete URL, including the path. */
  readonly otelExporterOtlpTracesEndpoint: string | undefined;
  readonly otelExporterOtlpHeaders: Readonly<Record<string, string>>;
  readonly otelServiceName: string | undefined;
  readonly otelResourceAttributes: Readonly<Record<string, string>>;
  readonly otelTracesSampler: string;
  readonly otelTracesSamplerArg: string | undefined;
}
