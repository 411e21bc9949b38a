import { Loader } from '@mantine/core';
import { IconWand } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ownChatCompletions } from '../../../contract/model-calls.ts';
import { isChatPrice, priceTokens } from '../../../contract/pricing.ts';
import { Chat } from '../../../sdk/chat.ts';
import { parseErrorResponse } from '../../../sdk/errors.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { toErrorMessage } from '../../components/error-alert.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { sendRequest } from '../../data/api-client.ts';
import { modelTitle, selfQuery, type UsableModel } from '../../data/self.ts';
import { type ChangeDraft, type Draft, saveDraft } from './draft.ts';

const INSTRUCTIONS = [
  'You improve prompts for video generation models.',
  'Rewrite the prompt of the user as one paragraph of at most 90 words: subject, action, place, light, lens, camera move, mood.',
  'Keep its language, its meaning, quoted words and names such as @Image1. Reply with the prompt only.',
].join(' ');

const MAX_TOKENS = 400;
/** Characters of a token, rounded down, so that the estimate is rather too high. */
const CHARACTERS_PER_TOKEN = 3;
/** Tokens of a usual answer. */
const USUAL_TOKENS = 150;

interface ImprovePromptProps {
  /** The operator's chat model. */
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly change: ChangeDraft;
}

/** Chip that has a chat model rewrite the prompt: an ordinary call of the account, with its price in front. */
export default function ImprovePrompt({ model, draft, change }: ImprovePromptProps) {
  const { t } = useTranslation(['studio', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const formatCredits = useFormatCredits();
  const improve = useMutation({
    mutationFn: () => improvePrompt(model.id, draft.prompt),
    onSuccess: (prompt) => {
      if (prompt === '') {
        toasts.error(t('notImproved'));
        return;
      }
      saveDraft('drafts', draft);
      change({ prompt });
      toasts.success(t('improved', { model: modelTitle(model) }));
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
    onSettled: () => queries.invalidateQueries({ queryKey: selfQuery.queryKey }),
  });
  if (!isChatPrice(model.price)) return null;
  const promptTokens = Math.ceil((INSTRUCTIONS.length + draft.prompt.length) / CHARACTERS_PER_TOKEN);
  const estimate = priceTokens(model.price, { promptTokens, completionTokens: USUAL_TOKENS }).quota;
  return (
    <button
      type="button"
      className="chip slot"
      aria-busy={improve.isPending}
      disabled={draft.prompt.trim() === ''}
      onClick={() => {
        if (!improve.isPending) improve.mutate();
      }}
    >
      {improve.isPending ? <Loader size={14} /> : <IconWand size={16} />}
      {t('improve', { price: formatCredits(estimate) })}
    </button>
  );
}

/** The same call as with an API key, but authenticated by the console's session. */
async function improvePrompt(model: string, prompt: string): Promise<string> {
  const chat = new Chat({
    send: async (_endpoint, input, options) => {
      const response = await sendRequest(ownChatCompletions, input as never, options);
      if (!response.ok) {
        const failure = parseErrorResponse(response.status, response.headers, await response.clone().json());
        if (failure !== undefined) throw failure;
      }
      return response;
    },
  });
  const { content } = await chat.complete({
    model,
    max_tokens: MAX_TOKENS,
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: prompt },
    ],
  });
  return content.trim();
}
