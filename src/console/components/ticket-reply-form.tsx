import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { MAX_TICKET_TEXT } from '../../contract/tickets.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { ErrorAlert } from './error-alert.tsx';
import { submitOnCtrlEnter } from './submit-on-ctrl-enter.ts';
import { useDraftText } from './use-draft-text.ts';

interface TicketReplyFormProps {
  /** Under which the unsent text is kept in this browser. Give the form the same `key`. */
  readonly draftName: string;
  readonly label: string;
  readonly submitLabel: string;
  readonly hint: string;
  readonly color?: string;
  readonly send: (content: string) => Promise<unknown>;
  /** Refetches the ticket: after sending, and after a refusal, so that new replies are seen before sending again. */
  readonly refetch: () => Promise<unknown>;
}

/** The text that is added to a ticket: by its author, or by an administrator as a reply or an internal note. */
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
