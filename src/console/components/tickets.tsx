import { Badge, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type KeyboardEvent, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MAX_TICKET_TEXT, type TicketStatus } from '../../contract/tickets.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import type { Ticket } from '../data/account-queries.ts';
import { DRAFT_KEY_PREFIX } from '../data/browser-storage.ts';
import { ErrorAlert } from './error-alert.tsx';

/** What a ticket can be about, as the form offers it. */
export const TICKET_CATEGORIES = ['video', 'billing', 'account', 'mailbox', 'other'] as const;

interface TicketReplyFormProps {
  /** Storage key of the unsent text in this browser. Give the form the same `key`. */
  readonly draftName: string;
  readonly label: string;
  readonly submitLabel: string;
  readonly hint: string;
  readonly color?: string;
  readonly send: (content: string) => Promise<unknown>;
  /**
   * Refetches the ticket: after sending, and after a refusal, so that new replies are shown before the next attempt.
   */
  readonly refetch: () => Promise<unknown>;
}

/** Adds text to a ticket: by its author, or by an administrator as a reply or an internal note. */
export function TicketReplyForm(props: TicketReplyFormProps) {
  const { draftName, label, submitLabel, hint, color, send, refetch } = props;
  const [text, setText] = useDraftText(draftName);
  const sending = useMutation({
    mutationFn: () => send(text),
    onSuccess: async () => {
      setText('');
      await refetch();
    },
    onError: (error) => (error instanceof ReelgateError && error.status < 500 ? refetch() : undefined),
  });
  const isReady = text.trim() !== '' && !sending.isPending;
  return (
    <form {...submitOnCtrlEnter(isReady, sending.mutate)}>
      <Stack gap="sm">
        <Textarea
          label={label}
          autosize
          minRows={4}
          maxRows={18}
          maxLength={MAX_TICKET_TEXT}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <ErrorAlert error={sending.error} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {hint}
          </Text>
          <Button type="submit" loading={sending.isPending} disabled={!isReady} color={color}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/**
 * Keyboard handlers for a form with a multi-line text: Enter inserts a line break, Ctrl + Enter (Command + Enter)
 * submits.
 */
export const submitOnCtrlEnter = (isReady: boolean, submit: () => void) => ({
  onSubmit: (event: FormEvent) => {
    event.preventDefault();
    if (isReady) submit();
  },
  onKeyDown: (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isReady) submit();
  },
});

/** A text kept in this browser when the user leaves the page, until it is sent or the user signs out. */
export function useDraftText(name: string, given?: string): readonly [string, (text: string) => void] {
  const key = `${DRAFT_KEY_PREFIX}.${name}`;
  const [text, setText] = useState(() => given ?? localStorage.getItem(key) ?? '');
  const change = useCallback(
    (next: string) => {
      setText(next);
      if (next === '') localStorage.removeItem(key);
      else localStorage.setItem(key, next);
    },
    [key],
  );
  return [text, change];
}

const STATUS_COLOR: Readonly<Record<TicketStatus, string>> = {
  open: 'blue',
  in_progress: 'yellow',
  resolved: 'teal',
  closed: 'gray',
};

/** Badge with the status of a ticket. */
export function TicketStatusBadge({ status }: { readonly status: TicketStatus }) {
  const { t } = useTranslation('support');
  return (
    <Badge color={STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`status.${status}`)}
    </Badge>
  );
}

/** Shows who has to act next; empty if no action is pending. */
export function TicketWaitingFor({ turn: waitingFor }: { readonly turn: Ticket['waiting_for'] }) {
  const { t } = useTranslation('support');
  if (waitingFor === 'nobody') return null;
  return (
    <Text component="span" size="xs" {...(waitingFor === 'user' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`turn.${waitingFor}`)}
    </Text>
  );
}
