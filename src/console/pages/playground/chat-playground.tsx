import { ActionIcon, Button, Grid, Group, Paper, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconCode, IconMessages, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CodeSamplesDialog } from '../../components/code-samples-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { chatSamples } from './chat-code-samples.ts';
import { parseTools, toChatRequest } from './chat-request-body.ts';
import { ChatSettings } from './chat-settings.tsx';
import { Composer } from './composer.tsx';
import { MessageView } from './message-view.tsx';
import {
  type Conversation,
  NO_SETTINGS,
  readConversations,
  removeStoredConversation,
  storeConversation,
  type Turn,
} from './stored-conversations.ts';
import { toStreamingRequest, useStreamedAnswer } from './use-streamed-answer.ts';

const newConversation = (settings = NO_SETTINGS): Conversation => ({
  id: String(Date.now()),
  savedAt: Date.now(),
  settings,
  turns: [],
});

/** A conversation with a model, with what each answer used and cost. */
export function ChatPlayground() {
  const { t } = useTranslation('playground');
  const [kept, setKept] = useState(readConversations);
  const [current, setCurrent] = useState(() => newConversation(kept[0]?.settings));
  const [code, setCode] = useState(false);
  const chat = useStreamedAnswer();
  const { settings, turns } = current;
  const isReady = settings.model !== '' && areTools(settings.tools);
  const send = async (text: string, images: readonly string[]): Promise<void> => {
    const asked: Conversation = { ...current, turns: [...turns, { role: 'user', text, images } satisfies Turn] };
    setCurrent(asked);
    const answer = await chat.ask(toChatRequest(settings, asked.turns));
    const answered = { ...asked, savedAt: Date.now(), turns: [...asked.turns, answer] };
    setCurrent(answered);
    setKept(storeConversation(answered));
  };
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 4, lg: 3 }}>
        <Stack>
          <Paper withBorder p="md">
            <ChatSettings
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
          <Stack gap="sm" aria-live="polite">
            {turns.length === 0 && chat.partial === undefined ? (
              <EmptyState icon={<IconMessages size={28} />} title={t('emptyTitle')}>
                {t('emptyText')}
              </EmptyState>
            ) : null}
            {turns.map((turn, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end
              <MessageView key={`${current.id} ${index}`} turn={turn} />
            ))}
            {chat.partial === undefined ? null : <MessageView turn={chat.partial} busy />}
          </Stack>
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

/** What the last call sent. */
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

/** Conversations of this browser. */
function KeptConversations({ kept, current, onOpen, onForget }: KeptConversationsProps) {
  const { t } = useTranslation('playground');
  if (kept.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} fz="sm" mb={4}>
        {t('kept')}
      </Title>
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
    </Paper>
  );
}
