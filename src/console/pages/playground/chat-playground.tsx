import {
  ActionIcon,
  Button,
  Grid,
  Group,
  JsonInput,
  Paper,
  Select,
  Stack,
  Text,
  Textarea,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { IconCode, IconMessages, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ownChatCompletions } from '../../../contract/model-calls.ts';
import { Chat, type ChatRequest } from '../../../sdk/chat.ts';
import { parseErrorResponse } from '../../../sdk/errors.ts';
import { chatSamples } from '../../components/code-samples.ts';
import { CodeSamplesDialog } from '../../components/code-samples-dialog.tsx';
import { toErrorMessage } from '../../components/error-alert.tsx';
import { NumberField } from '../../components/number-field.tsx';
import { EmptyState } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { sendRequest } from '../../data/api-client.ts';
import { usableModelsQuery } from '../../data/self.ts';
import {
  AnswerBuilder,
  type Conversation,
  NO_SETTINGS,
  parseTools,
  readConversations,
  removeStoredConversation,
  type ChatSettings as Settings,
  storeConversation,
  type Turn,
  toChatRequest,
} from './conversations.ts';
import { Composer, MessageView } from './message-view.tsx';

const newConversation = (settings = NO_SETTINGS): Conversation => ({
  id: String(Date.now()),
  savedAt: Date.now(),
  settings,
  turns: [],
});

/** Ids of the chat models the account can call. */
const useChatModels = (): readonly string[] =>
  (useQuery(usableModelsQuery).data ?? [])
    .filter(({ kind, permitted }) => kind === 'chat' && permitted)
    .map(({ id }) => id);

/** Chat with a model, showing tokens, time and cost of each answer. */
export function ChatPlayground() {
  const { t } = useTranslation('playground');
  const [kept, setKept] = useState(readConversations);
  const [current, setCurrent] = useState(() => newConversation(kept[0]?.settings));
  const [code, setCode] = useState(false);
  const [askedIn, setAskedIn] = useState('');
  const chat = useStreamedAnswer();
  const chatModels = useChatModels();
  const { turns } = current;
  const partial = current.id === askedIn ? chat.partial : undefined;
  const settings = { ...current.settings, model: current.settings.model || (chatModels[0] ?? '') };
  const isReady = settings.model !== '' && areTools(settings.tools);
  const send = async (text: string, images: readonly string[]): Promise<void> => {
    const asked: Conversation = {
      ...current,
      settings,
      turns: [...turns, { role: 'user', text, images } satisfies Turn],
    };
    setCurrent(asked);
    setAskedIn(asked.id);
    // A reload during the answer must not lose the question.
    setKept(storeConversation(asked));
    const answer = await chat.ask(toChatRequest(settings, asked.turns));
    const answered = { savedAt: Date.now(), turns: [...asked.turns, answer] };
    // Meanwhile settings may have been changed, or another conversation opened.
    setCurrent((shown) => (shown.id === asked.id ? { ...shown, ...answered } : shown));
    // Or this one been deleted, as at the sign-out, after which the browser keeps nothing of the account.
    if (readConversations().some(({ id }) => id === asked.id)) setKept(storeConversation({ ...asked, ...answered }));
  };
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 4, lg: 3 }}>
        <Stack>
          <Paper withBorder p="md">
            <ChatSettings
              models={chatModels}
              settings={settings}
              onChange={(part) => setCurrent({ ...current, settings: { ...settings, ...part } })}
            />
          </Paper>
          <KeptConversations
            kept={kept}
            current={current.id}
            onOpen={setCurrent}
            onForget={(id) => setKept(removeStoredConversation(id))}
          />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 8, lg: 9 }}>
        <Stack>
          <ChatActions
            isReady={isReady}
            isBusy={chat.partial !== undefined}
            onCode={() => setCode(true)}
            onNew={() => setCurrent(newConversation(settings))}
          />
          <ConversationTurns id={current.id} turns={turns} partial={partial} />
          <Composer
            busy={chat.partial !== undefined}
            disabled={!isReady}
            onSend={(text, images) => void send(text, images)}
            onStop={chat.stop}
          />
        </Stack>
      </Grid.Col>
      {code ? (
        <CodeSamplesDialog
          title={t('code')}
          hint={t('codeHint')}
          samples={chatSamples(toStreamingRequest(toChatRequest(settings, upToLastQuestion(turns))), location.origin)}
          onClose={() => setCode(false)}
        />
      ) : null}
    </Grid>
  );
}

interface ConversationTurnsProps {
  readonly id: string;
  readonly turns: readonly Turn[];
  /** The answer that is arriving. */
  readonly partial: Turn | undefined;
}

function ConversationTurns({ id, turns, partial }: ConversationTurnsProps) {
  const { t } = useTranslation('playground');
  return (
    <Stack gap="sm" aria-live="polite">
      {turns.length === 0 && partial === undefined ? (
        <EmptyState icon={<IconMessages size={28} />} title={t('emptyTitle')}>
          {t('emptyText')}
        </EmptyState>
      ) : null}
      {turns.map((turn, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end
        <MessageView key={`${id} ${index}`} turn={turn} />
      ))}
      {partial === undefined ? null : <MessageView turn={partial} busy />}
    </Stack>
  );
}

interface ChatActionsProps {
  readonly isReady: boolean;
  readonly isBusy: boolean;
  readonly onCode: () => void;
  readonly onNew: () => void;
}

function ChatActions({ isReady, isBusy, onCode, onNew }: ChatActionsProps) {
  const { t } = useTranslation('playground');
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" leftSection={<IconCode size={16} />} disabled={!isReady} onClick={onCode}>
        {t('code')}
      </Button>
      <Button variant="default" leftSection={<IconPlus size={16} />} disabled={isBusy} onClick={onNew}>
        {t('newChat')}
      </Button>
    </Group>
  );
}

/** Turns up to the last question: the messages of the last call. */
const upToLastQuestion = (turns: readonly Turn[]): readonly Turn[] =>
  turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1);

function areTools(text: string): boolean {
  try {
    parseTools(text);
    return true;
  } catch {
    return false;
  }
}

interface KeptConversationsProps {
  readonly kept: readonly Conversation[];
  readonly current: string;
  readonly onOpen: (conversation: Conversation) => void;
  readonly onForget: (id: string) => void;
}

/** Conversations stored in this browser; on phones they are folded, because they precede the current one. */
function KeptConversations(props: KeptConversationsProps) {
  const { t } = useTranslation('playground');
  const [opened, setOpened] = useState(false);
  if (props.kept.length === 0) return null;
  return (
    <>
      <Button hiddenFrom="md" variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {t('kept')}
      </Button>
      <Paper withBorder p="md" visibleFrom={opened ? undefined : 'md'}>
        <Title order={2} fz="sm" mb={4}>
          {t('kept')}
        </Title>
        <ConversationList {...props} />
      </Paper>
    </>
  );
}

function ConversationList({ kept, current, onOpen, onForget }: KeptConversationsProps) {
  const { t } = useTranslation('playground');
  return (
    <>
      <Text size="xs" c="dimmed" mb="xs">
        {t('keptHint')}
      </Text>
      <Stack gap={4}>
        {kept.map((each) => (
          <Group key={each.id} gap={4} wrap="nowrap">
            <UnstyledButton
              flex={1}
              miw={0}
              aria-current={each.id === current ? 'true' : undefined}
              onClick={() => onOpen(each)}
            >
              <Text size="sm" truncate fw={each.id === current ? 650 : 400}>
                {each.turns[0]?.text || each.settings.model}
              </Text>
              <RelativeTime at={Math.floor(each.savedAt / 1_000)} size="xs" c="dimmed" />
            </UnstyledButton>
            <ActionIcon aria-label={t('forget', { name: each.turns[0]?.text ?? '' })} onClick={() => onForget(each.id)}>
              <IconTrash size={14} />
            </ActionIcon>
          </Group>
        ))}
      </Stack>
    </>
  );
}

interface ChatSettingsProps {
  /** Ids of the models that can be chosen. */
  readonly models: readonly string[];
  readonly settings: Settings;
  readonly onChange: (part: Partial<Settings>) => void;
}

/** Model, system prompt and parameters of a conversation; on phones the parameters are folded. */
function ChatSettings({ models, settings, onChange }: ChatSettingsProps) {
  const { t } = useTranslation('playground');
  const [opened, setOpened] = useState(false);
  return (
    <Stack gap="sm">
      <Select
        label={t('model')}
        data={[...models]}
        value={settings.model === '' ? null : settings.model}
        onChange={(model) => onChange({ model: model ?? '' })}
        searchable
        allowDeselect={false}
        placeholder={t('chooseModel')}
        nothingFoundMessage={t('noModel')}
      />
      <Button
        hiddenFrom="md"
        size="compact-sm"
        variant="subtle"
        color="gray"
        aria-expanded={opened}
        onClick={() => setOpened(!opened)}
      >
        {t('settings')}
      </Button>
      <Stack gap="sm" visibleFrom={opened ? undefined : 'md'}>
        <Textarea
          label={t('system')}
          autosize
          minRows={2}
          maxRows={8}
          value={settings.system}
          onChange={({ currentTarget: { value } }) => onChange({ system: value })}
        />
        <NumberField
          label={t('temperature')}
          placeholder={t('byModel')}
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={settings.temperature}
          onChange={(temperature) => onChange({ temperature })}
        />
        <NumberField
          label={t('maxTokens')}
          placeholder={t('byModel')}
          min={1}
          allowDecimal={false}
          value={settings.maxTokens}
          onChange={(maxTokens) => onChange({ maxTokens })}
        />
        <JsonInput
          label={t('tools')}
          description={t('toolsHint')}
          validationError={t('toolsInvalid')}
          autosize
          minRows={2}
          maxRows={10}
          value={settings.tools}
          onChange={(tools) => onChange({ tools })}
        />
      </Stack>
    </Stack>
  );
}

/** Body of a streamed call, as sent. */
const toStreamingRequest = (request: ChatRequest) => ({
  ...request,
  stream: true,
  stream_options: { include_usage: true },
});

/** Under /api an error can have a success status. @throws ReelgateError */
async function throwRefusal(response: Response): Promise<void> {
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const failure = parseErrorResponse(response.status, response.headers, body);
  if (failure !== undefined) throw failure;
}

/** Streams answers, one at a time. */
function useStreamedAnswer() {
  const { t } = useTranslation();
  const [partial, setPartial] = useState<Turn>();
  const controller = useRef<AbortController>(undefined);

  /** The complete answer, or as much as arrived; never rejects. */
  const ask = async (request: ChatRequest): Promise<Turn> => {
    const abort = new AbortController();
    controller.current = abort;
    const builder = new AnswerBuilder(request.model);
    let requestId: string | undefined;
    // The same call as with an API key, but authenticated by the console's session.
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
