import { Alert, Button, MultiSelect, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  createWebhook,
  EVENT_TYPES,
  type EventType,
  SUBSCRIBABLE_TYPES,
  updateWebhook,
  WEBHOOK_PRESETS,
  type WebhookPreset,
} from '../../../contract/webhooks.ts';
import { CopyField } from '../../components/copy-button.tsx';
import { FormDialog, OneTimeSecretDialog } from '../../components/dialog.tsx';
import { useFormValues } from '../../components/save-form.tsx';
import type { Webhook } from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { isAdmin, useSelf } from '../../data/self.ts';

interface WebhookDialogProps {
  /** Undefined: creates a webhook. */
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
}

/** Adds or changes a webhook; the secret of a new webhook is shown once. */
export function WebhookDialog({ webhook, onClose }: WebhookDialogProps) {
  const [secret, setSecret] = useState<string>();
  if (secret === undefined) return <WebhookForm webhook={webhook} onCreated={setSecret} onClose={onClose} />;
  return <WebhookSecretDialog secret={secret} onClose={onClose} />;
}

/** Shows the secret of a webhook once. */
export function WebhookSecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const { t } = useTranslation('account');
  return (
    <OneTimeSecretDialog title={t('webhooks.secretTitle')} onClose={onClose}>
      <Stack>
        <Alert color="yellow" variant="light">
          {t('webhooks.secretText')}
        </Alert>
        <CopyField text={secret} focused />
        <Button onClick={onClose}>{t('apiKeys.done')}</Button>
      </Stack>
    </OneTimeSecretDialog>
  );
}

function WebhookForm({ webhook, onCreated, onClose }: WebhookDialogProps & { onCreated: (secret: string) => void }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const role = useSelf().data?.role;
  const { draft, text, value } = useFormValues(() => ({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    events: (webhook?.events ?? []) as string[],
    preset: (webhook?.preset ?? 'standard') as string | null,
  }));
  const save = useMutation({
    mutationFn: async () => {
      const body = {
        url: draft.url.trim(),
        description: draft.description,
        events: draft.events as EventType[],
        preset: (draft.preset ?? 'standard') as WebhookPreset,
      };
      if (webhook === undefined) return (await callApi(createWebhook, { body })).data.secret;
      await callApi(updateWebhook, { params: { id: String(webhook.id) }, body });
      return undefined;
    },
    onSuccess: async (secret) => {
      await queries.invalidateQueries({ queryKey: ['webhooks'] });
      if (secret === undefined) onClose();
      else onCreated(secret);
    },
  });
  const types = SUBSCRIBABLE_TYPES.filter((type) => EVENT_TYPES[type] !== 'administrators' || isAdmin(role));
  return (
    <FormDialog
      title={t(webhook === undefined ? 'webhooks.add' : 'webhooks.edit')}
      submitLabel={webhook === undefined ? t('webhooks.add') : t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        type="url"
        label={t('webhooks.url')}
        description={t('webhooks.urlHint')}
        placeholder="https://example.com/hook"
        maxLength={2_000}
        required
        data-autofocus
        {...text('url')}
      />
      <MultiSelect
        label={t('webhooks.events')}
        description={t('webhooks.eventsHint')}
        data={types}
        clearable
        searchable
        {...value('events')}
      />
      <Select
        label={t('webhooks.preset')}
        description={t('webhooks.presetHint')}
        data={WEBHOOK_PRESETS.map((preset) => ({ value: preset, label: t(`webhooks.presets.${preset}`) }))}
        allowDeselect={false}
        {...value('preset')}
      />
      <TextInput label={t('webhooks.description')} maxLength={200} {...text('description')} />
    </FormDialog>
  );
}
