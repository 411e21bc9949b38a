import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Span as ApiSpan,
  SpanKind as ApiSpanKind,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withinTime } from '../concurrency.ts';
import type { Span, SpanAttributes, SpanKind, SpanOptions, Tracing, TracingSettings } from './tracing.ts';

const KINDS: Readonly<Record<SpanKind, ApiSpanKind>> = {
  server: ApiSpanKind.SERVER,
  client: ApiSpanKind.CLIENT,
  internal: ApiSpanKind.INTERNAL,
};

/** ExportResultCode.SUCCESS, whose package is not a dependency of its own. */
const EXPORTED = 0;
/** Longest wait for the last spans at a stop; an unreachable collector would delay it by ten seconds. */
const LAST_EXPORT_MS = 2_000;

/**
 * Tracing through the official SDK, sent as OTLP over HTTP. Imported only when an endpoint is configured.
 * @param url the endpoint to send to
 * @param onFailure called for the first of several failures in a row
 */
export function openOpenTelemetry(
  url: string,
  settings: TracingSettings,
  { instance, version }: { readonly instance: string; readonly version: string },
  onFailure: (error?: Error) => void = () => {},
): Tracing {
  const exporter = new ReportingExporter({ url, headers: settings.otelExporterOtlpHeaders }, onFailure);
  const provider = new TracerProvider({
    // An operator's attributes override these, and OTEL_SERVICE_NAME a `service.name` among them, as the specification has it.
    resource: resourceFromAttributes({
      'service.version': version,
      'service.instance.id': instance,
      ...settings.otelResourceAttributes,
      'service.name': settings.otelServiceName ?? settings.otelResourceAttributes['service.name'] ?? 'reelgate',
    }),
    sampler: toSampler(settings.otelTracesSampler, settings.otelTracesSamplerArg),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  // A failure of the last export has been reported.
  const close = () => withinTime(provider.shutdown(), LAST_EXPORT_MS, () => {}).catch(() => {});
  return new OpenTelemetryTracing(provider.getTracer('reelgate', version), close);
}

type ExportArguments = Parameters<OTLPTraceExporter['export']>;

/** Reports failures, which the SDK by itself does not mention anywhere. */
class ReportingExporter extends OTLPTraceExporter {
  readonly #onFailure: (error?: Error) => void;
  #hasFailed = false;

  constructor(options: ConstructorParameters<typeof OTLPTraceExporter>[0], onFailure: (error?: Error) => void) {
    super(options);
    this.#onFailure = onFailure;
  }

  override export(spans: ExportArguments[0], done: ExportArguments[1]): void {
    super.export(spans, (result) => {
      const hasFailed = result.code !== EXPORTED;
      if (hasFailed && !this.#hasFailed) this.#onFailure(result.error);
      this.#hasFailed = hasFailed;
      done(result);
    });
  }
}

class OpenTelemetryTracing implements Tracing {
  readonly isOn = true;
  readonly #tracer: Tracer;
  readonly #spans = new AsyncLocalStorage<Span>();
  readonly close: () => Promise<void>;

  constructor(tracer: Tracer, close: () => Promise<void>) {
    this.#tracer = tracer;
    this.close = close;
  }

  start({ name, kind, parent = this.current(), attributes = {} }: SpanOptions): Span {
    const remote = parseTraceparent(parent);
    const context = remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
    return new RecordedSpan(
      this.#tracer.startSpan(name, { kind: KINDS[kind], attributes: { ...attributes } }, context),
    );
  }

  run<T>(span: Span | undefined, work: () => T): T {
    return span === undefined ? work() : this.#spans.run(span, work);
  }

  async trace<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const span = this.start(options);
    try {
      const result = await this.run(span, work);
      span.end();
      return result;
    } catch (error) {
      span.end(error instanceof Error ? error.name : 'error');
      throw error;
    }
  }

  readonly current = (): string | undefined => this.#spans.getStore()?.traceparent;
}

class RecordedSpan implements Span {
  readonly #span: ApiSpan;
  readonly traceparent: string;

  constructor(span: ApiSpan) {
    this.#span = span;
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes } as Parameters<ApiSpan['setAttributes']>[0]);
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  end(errorType?: string): void {
    if (errorType !== undefined) {
      this.#span.setAttribute('error.type', errorType);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** W3C Trace Context 1: version 00, or a later version with the same start. All-zero ids are invalid. */
function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const match = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(
    text ?? '',
  );
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = '00'] = match;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

function toSampler(name: string, argument: string | undefined): Sampler {
  const rate = Number(argument ?? '1');
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(rate),
  };
  const root = (roots[name.replace('parentbased_', '')] ?? (() => new AlwaysOnSampler()))();
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
