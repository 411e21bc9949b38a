import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ownChatCompletions } from '../../../contract/model-calls.ts';
import { Chat, type ChatRequest } from '../../../sdk/chat.ts';
import { parseErrorResponse } from '../../../sdk/errors.ts';
import { toErrorMessage } from '../../components/error-alert.tsx';
import { sendRequest } from '../../data/api-client.ts';
import { AnswerBuilder } from './answer-builder.ts';
import type { Turn } from './stored-conversations.ts';

/** The body of a streamed call, as it is sent. */
export const toStreamingRequest = (request: ChatRequest) => ({
  ...request,
  stream: true,
  stream_options: { include_usage: true },
});

/** Under /api a refusal may have the status of a success. @throws ReelgateError */
async function throwRefusal(response: Response): Promise<void> {
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const failure = parseErrorResponse(response.status, response.headers, body);
  if (failure !== undefined) throw failure;
}

/** Streams answers; one at a time. */
export function useStreamedAnswer() {
  const { t } = useTranslation();
  const [partial, setPartial] = useState<Turn>();
  const controller = useRef<AbortController>(undefined);

  /** The answer, complete or as far as it came; never rejects. */
  const ask = async (request: ChatRequest): Promise<Turn> => {
    const abort = new AbortController();
    controller.current = abort;
    const builder = new AnswerBuilder(request.model);
    let requestId: string | undefined;
    // The same call as with a key, by the session of the console.
    const chat = new Chat({
      send: async (_endpoint, input, options) => {
        const response = await sendRequest(ownChatCompletions, input as never, options);
        requestId = response.headers.get('x-request-id') ?? undefined;
        await throwRefusal(response);
        return response;
      },
    });
    setPartial(builder.toTurn());
    try {
      for await (const event of chat.events(toStreamingRequest(request), { signal: abort.signal })) {
        builder.add(event);
        setPartial(builder.toTurn());
      }
      return builder.toTurn({ requestId });
    } catch (error) {
      const isStopped = abort.signal.aborted;
      return builder.toTurn({ requestId, error: isStopped ? undefined : toErrorMessage(error, t('unreachable')) });
    } finally {
      controller.current = undefined;
      setPartial(undefined);
    }
  };
  return { ask, partial, stop: () => controller.current?.abort() };
}
