import { Button, Group, Stack, TagsInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createToken, updateToken } from '../../../contract/api-tokens.ts';
import { AmountInput } from '../../components/amount-input.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { ModelsSelect } from '../../components/models-select.tsx';
import { OneTimeSecretDialog } from '../../components/one-time-secret-dialog.tsx';
import { useFormValues } from '../../components/use-form-values.ts';
import { callApi } from '../../data/api-client.ts';
import type { ApiKey, ApiKeyBody } from '../../data/api-key-queries.ts';
import { creditsToQuota } from '../../data/credits-to-quota.ts';
import { formatDateField, toEndOfDay } from '../../data/date-field-conversion.ts';
import { useStatus } from '../../data/signed-in-user-and-site-queries.ts';
import { ApiKeyRateLimitFields, toRateLimitDraft, toRateLimits } from './api-key-rate-limit-fields.tsx';
import { ConnectPanel } from './connect-clients/connect-panel.tsx';

interface ApiKeyDialogProps {
  readonly apiKey: ApiKey | 'new';
  readonly onClose: () => void;
}

interface CreatedKey {
  readonly id: number;
  readonly key: string;
  readonly name: string;
  readonly models: readonly string[];
}

/** Creates or changes an API key; a new key is shown here once, with how to use it in each client. */
export function ApiKeyDialog({ apiKey, onClose }: ApiKeyDialogProps) {
  const { t } = useTranslation(['account', 'connect-clients']);
  const [created, setCreated] = useState<CreatedKey>();
  if (created === undefined) return <ApiKeyForm apiKey={apiKey} onCreated={setCreated} onClose={onClose} />;
  return (
    <OneTimeSecretDialog title={t('connect-clients:created')} size="xl" onClose={onClose}>
      <Stack>
        <ConnectPanel tokenId={created.id} page={1} apiKey={created.key} allowedModels={created.models} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('apiKeys.done')}</Button>
        </Group>
      </Stack>
    </OneTimeSecretDialog>
  );
}

interface ApiKeyFormProps extends ApiKeyDialogProps {
  readonly onCreated: (key: CreatedKey) => void;
}

function ApiKeyForm({ apiKey, onCreated, onClose }: ApiKeyFormProps) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const old = apiKey === 'new' ? undefined : apiKey;
  const { draft, text, value } = useFormValues(() => toDraft(old, perUnit));
  const save = useMutation({
    mutationFn: async () => {
      const body: ApiKeyBody = {
        name: draft.name.trim(),
        quota_limit: draft.limit === '' ? null : creditsToQuota(Number(draft.limit), perUnit),
        expires_at: toEndOfDay(draft.expires),
        models: [...draft.models],
        allowed_addresses: [...draft.addresses],
        ...toRateLimits(draft),
      };
      if (old === undefined) {
        const { id, key } = (await callApi(createToken, { body })).data;
        return { id, key, name: body.name ?? '', models: body.models ?? [] };
      }
      await callApi(updateToken, { params: { id: String(old.id) }, body });
      return undefined;
    },
    onSuccess: async (key) => {
      await queries.invalidateQueries({ queryKey: ['tokens'] });
      if (key === undefined) onClose();
      else onCreated(key);
    },
  });
  return (
    <FormDialog
      title={t(old === undefined ? 'apiKeys.make' : 'apiKeys.editTitle')}
      submitLabel={old === undefined ? t('apiKeys.make') : t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label={t('apiKeys.name')}
        placeholder={t('apiKeys.namePlaceholder')}
        maxLength={100}
        required
        data-autofocus
        {...text('name')}
      />
      <AmountInput label={t('apiKeys.limit')} description={t('apiKeys.limitHint')} {...value('limit')} />
      <TextInput
        type="date"
        label={t('apiKeys.expires')}
        description={t('apiKeys.expiresHint')}
        min={formatDateField(Date.now() / 1000)}
        {...text('expires')}
      />
      <ModelsSelect label={t('apiKeys.models')} description={t('apiKeys.modelsHint')} {...value('models')} />
      <TagsInput
        label={t('apiKeys.addresses')}
        description={t('apiKeys.addressesHint')}
        splitChars={[',', ' ', '\n']}
        maxTags={100}
        value={[...draft.addresses]}
        onChange={value('addresses').onChange}
      />
      <ApiKeyRateLimitFields value={value} />
    </FormDialog>
  );
}

const toDraft = (apiKey: ApiKey | undefined, perUnit: number) => ({
  name: apiKey?.name ?? '',
  limit: (apiKey?.quota_limit == null ? '' : apiKey.quota_limit / perUnit) as number | string,
  expires: formatDateField(apiKey?.expires_at ?? 0),
  models: (apiKey?.models ?? []) as readonly string[],
  addresses: (apiKey?.allowed_addresses ?? []) as readonly string[],
  ...toRateLimitDraft(apiKey),
});
