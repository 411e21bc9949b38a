import type { SpanOptions } from '../platform/tracing/tracing.ts';
import type { NewTask } from './new-task-row.ts';

type TracedTask = Pick<NewTask, 'id' | 'vendor' | 'model' | 'traceparent'>;

/** What a span of a video is called. Whatever process does it and whenever, it belongs to the trace of the submit. */
export function videoSpanOptions(step: 'submit' | 'poll' | 'settle', task: TracedTask): SpanOptions {
  return {
    name: step === 'submit' ? `generate_content ${task.model}` : `${step} ${task.model}`,
    kind: step === 'settle' ? 'internal' : 'client',
    ...(task.traceparent === null ? {} : { parent: task.traceparent }),
    attributes: {
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.provider.name': task.vendor,
      'gen_ai.request.model': task.model,
      'gen_ai.output.type': 'video',
      'reelgate.task.id': task.id,
    },
  };
}
