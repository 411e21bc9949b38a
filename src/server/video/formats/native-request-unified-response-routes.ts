import * as endpoints from '../../../contract/vendor-native-endpoints.ts';
import type { ChannelDirectory } from '../../channels/directory.ts';
import { invalidRequest } from '../../platform/app-error.ts';
import type { ModelCaller, RequestContext } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import { announceEnd } from '../../platform/sunset-headers.ts';
import type { RefreshingTaskReader } from '../poll/refreshing-task-reader.ts';
import type { GenerationRequest } from '../submit/generation-request.ts';
import { submitForToken } from '../submit/submit-for-token-or-account.ts';
import type { SubmitService } from '../submit/submit-service.ts';
import { parseJimengRequest, parseKlingRequest } from './parse-native-requests.ts';
import type { TaskRenderer } from './task-renderer.ts';

export interface VendorFormatRouteDependencies {
  readonly submitter: SubmitService;
  readonly reader: RefreshingTaskReader;
  readonly renderer: TaskRenderer;
  readonly channels: Pick<ChannelDirectory, 'retirement'>;
}

type Input = Pick<JimengInput, 'caller' | 'request' | 'reply'>;

interface JimengInput {
  readonly query: { readonly Action: string };
  readonly body: { readonly [key: string]: unknown };
  readonly caller: ModelCaller;
  readonly request: RequestContext;
  readonly reply: { headers(headers: Record<string, string>): unknown };
}

/** Submits in the formats of Kling and Jimeng, with responses in the contract's own. */
export function addVendorFormatRoutes(
  routes: RouteRegistry,
  { submitter, reader, renderer, channels }: VendorFormatRouteDependencies,
): void {
  const submit = async (generation: GenerationRequest, { caller, request, reply }: Input) => {
    await announceEnd(channels, generation.model, reply);
    return renderer.submitted(await submitForToken(submitter, caller, generation, request));
  };
  const query = async (caller: ModelCaller, taskId: string) =>
    renderer.unified(await reader.readForQuery(caller, taskId));

  routes.add(endpoints.klingText, (input) =>
    submit(parseKlingRequest(input.body, 'text2video', input.request.longTexts), input),
  );
  routes.add(endpoints.klingImage, (input) =>
    submit(parseKlingRequest(input.body, 'image2video', input.request.longTexts), input),
  );
  routes.add(endpoints.klingOmni, (input) =>
    submit(parseKlingRequest(input.body, 'omni-video', input.request.longTexts), input),
  );
  routes.add(endpoints.klingOmniQuery, ({ params, caller }) => query(caller, params.task_id));
  routes.add(endpoints.klingTextQuery, ({ params, caller }) => query(caller, params.task_id));
  routes.add(endpoints.klingImageQuery, ({ params, caller }) => query(caller, params.task_id));

  const act = async (input: JimengInput) => {
    const {
      query: { Action },
      body,
      caller,
    } = input;
    if (Action === 'CVSync2AsyncSubmitTask') return submit(parseJimengRequest(body, input.request.longTexts), input);
    if (Action !== 'CVSync2AsyncGetResult')
      throw invalidRequest('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.', 'Action');
    if (typeof body.task_id !== 'string') throw invalidRequest('task_id is required.', 'task_id');
    return query(caller, body.task_id);
  };
  routes.add(endpoints.jimengAction, act);
  routes.add(endpoints.jimengActionWithoutSlash, act);
}
