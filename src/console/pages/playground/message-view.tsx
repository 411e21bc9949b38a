import { Alert, Anchor, Code, Group, Loader, Paper, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight, IconTool } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormatPrice } from '../../components/use-format-credits.ts';
import { formatMilliseconds } from '../../data/format-times-and-durations.ts';
import { receiptQuery } from '../../data/request-log-queries.ts';
import { MessageImages } from './message-images.tsx';
import type { Turn } from './stored-conversations.ts';

/** One message. What a model says is only text: nothing of it becomes a part of the page. */
export function MessageView({ turn, busy = false }: { readonly turn: Turn; readonly busy?: boolean }) {
  const { t } = useTranslation('playground');
  const isOwn = turn.role === 'user';
  return (
    <Paper
      component="article"
      withBorder
      p="md"
      aria-label={isOwn ? t('you') : (turn.model ?? t('model'))}
      bg={isOwn ? 'var(--mantine-color-default-hover)' : undefined}
      ml={{ base: 0, sm: isOwn ? 48 : 0 }}
      mr={{ base: 0, sm: isOwn ? 0 : 48 }}
    >
      <Group gap="xs" mb={4}>
        <Text size="xs" c="dimmed" fw={600}>
          {isOwn ? t('you') : turn.model}
        </Text>
        {busy ? <Loader size={12} aria-label={t('answering')} /> : null}
      </Group>
      {turn.thinking === undefined || turn.thinking === '' ? null : <Thinking text={turn.thinking} />}
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {turn.text}
      </Text>
      <MessageImages images={turn.images ?? []} height={120} />
      {turn.toolCalls?.map(({ name, arguments: text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a model may call a tool twice
        <div key={index} style={{ marginTop: 8 }}>
          <Group gap={6}>
            <IconTool size={14} />
            <Text size="xs" fw={600}>
              {t('toolCall', { name })}
            </Text>
          </Group>
          <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {text}
          </Code>
        </div>
      ))}
      {turn.error === undefined ? null : (
        <Alert color="red" mt="xs" role="alert">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {turn.error}
          </Text>
        </Alert>
      )}
      {isOwn || busy ? null : <Figures turn={turn} />}
    </Paper>
  );
}

function Thinking({ text }: { readonly text: string }) {
  const { t } = useTranslation('playground');
  const [open, { toggle }] = useDisclosure(false);
  return (
    <div style={{ marginBottom: 8 }}>
      <UnstyledButton onClick={toggle} aria-expanded={open} c="dimmed" fz="xs">
        <Group gap={4}>
          {open ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          {t('thinking')}
        </Group>
      </UnstyledButton>
      {open ? (
        <Text size="xs" c="dimmed" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {text}
        </Text>
      ) : null}
    </div>
  );
}

/** Tokens, times and cost of an answer; the cost is that of its receipt. */
function Figures({ turn }: { readonly turn: Turn }) {
  const { t } = useTranslation('playground');
  const price = useFormatPrice();
  const id = turn.requestId;
  const receipt = useQuery({
    ...receiptQuery(id ?? ''),
    enabled: id !== undefined,
    // The charge is written a moment after the answer has ended.
    retry: 5,
    retryDelay: 1_000,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const parts = [
    turn.inputTokens === undefined
      ? undefined
      : t('tokens', { input: turn.inputTokens, output: turn.outputTokens ?? 0 }),
    turn.firstTokenMs === undefined ? undefined : t('firstToken', { time: formatMilliseconds(turn.firstTokenMs) }),
    turn.durationMs === undefined ? undefined : formatMilliseconds(turn.durationMs),
  ].filter((part) => part !== undefined);
  return (
    <Text size="xs" c="dimmed" mt="xs">
      {parts.join(' · ')}
      {receipt.data === undefined || id === undefined ? null : (
        <>
          {' · '}
          <Anchor size="xs" renderRoot={(props) => <Link to="/account/receipts/$id" params={{ id }} {...props} />}>
            {price(receipt.data.charged)}
          </Anchor>
        </>
      )}
    </Text>
  );
}
