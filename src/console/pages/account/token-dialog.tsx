import { Alert, Button, Group, Modal, MultiSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { changeToken, makeToken } from '../../../contract/tokens.ts';
import { call } from '../../data/client.ts';
import { modelsQuery } from '../../data/models.ts';
import { toQuota } from '../../data/money.ts';
import { useStatus } from '../../data/queries.ts';
import type { TokenBody, TokenRow } from '../../data/tokens.ts';
import { CopyField } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';

/** Makes or changes a token; a new one's key is shown here once. */
export function TokenDialog({ token, onClose }: { readonly token: TokenRow | 'new'; readonly onClose: () => void }) {
  const { t } = useTranslation(['account', 'shell']);
  const [key, setKey] = useState<string>();
  return (
    <Modal
      opened
      onClose={onClose}
      title={
        key !== undefined
          ? t('account:tokens.onceTitle')
          : token === 'new'
            ? t('account:tokens.make')
            : t('account:tokens.editTitle')
      }
      closeOnClickOutside={key === undefined}
      closeButtonProps={{ 'aria-label': t('shell:close') }}
    >
      {key === undefined ? (
        <Form token={token} onMade={setKey} onClose={onClose} />
      ) : (
        <Stack>
          <Alert color="yellow" variant="light">
            {t('account:tokens.onceText')}
          </Alert>
          <CopyField text={key} />
          <Text size="sm" fw={600}>
            {t('account:tokens.tryIt')}
          </Text>
          <CopyField text={toCurl(key)} />
          <Button onClick={onClose}>{t('account:tokens.done')}</Button>
        </Stack>
      )}
    </Modal>
  );
}

const toCurl = (key: string): string => `curl ${location.origin}/v1/models -H "Authorization: Bearer ${key}"`;

interface FormProps {
  readonly token: TokenRow | 'new';
  readonly onMade: (key: string) => void;
  readonly onClose: () => void;
}

function Form({ token, onMade, onClose }: FormProps) {
  const { t } = useTranslation(['account', 'shell']);
  const queries = useQueryClient();
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const models = useQuery(modelsQuery);
  const old = token === 'new' ? undefined : token;
  const [name, setName] = useState(old?.name ?? '');
  const [limit, setLimit] = useState<number | string>(old?.quota_limit == null ? '' : old.quota_limit / perUnit);
  const [expires, setExpires] = useState(old?.expires_at == null ? '' : toDateText(old.expires_at));
  const [chosen, setChosen] = useState<string[]>(old?.models ?? []);
  const save = useMutation({
    mutationFn: async () => {
      const body: TokenBody = {
        name: name.trim(),
        quota_limit: limit === '' ? null : toQuota(Number(limit), perUnit),
        expires_at: expires === '' ? null : toEndOfDay(expires),
        models: chosen,
      };
      if (old === undefined) return (await call(makeToken, { body })).data.key;
      await call(changeToken, { params: { id: String(old.id) }, body });
      return undefined;
    },
    onSuccess: async (key) => {
      await queries.invalidateQueries({ queryKey: ['tokens'] });
      if (key === undefined) onClose();
      else onMade(key);
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <TextInput
          label={t('account:tokens.name')}
          placeholder={t('account:tokens.namePlaceholder')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          required
          data-autofocus
        />
        <NumberInput
          label={t('account:tokens.limit')}
          description={t('account:tokens.limitHint')}
          value={limit}
          onChange={setLimit}
          min={0}
          decimalScale={4}
          hideControls
        />
        <TextInput
          type="date"
          label={t('account:tokens.expires')}
          description={t('account:tokens.expiresHint')}
          min={toDateText(Date.now() / 1000)}
          value={expires}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
        <MultiSelect
          label={t('account:tokens.models')}
          description={t('account:tokens.modelsHint')}
          data={[...new Set([...(models.data ?? []).map(({ id }) => id), ...chosen])]}
          value={chosen}
          onChange={setChosen}
          searchable
          clearable
        />
        <Failure error={save.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('shell:cancel')}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {old === undefined ? t('account:tokens.make') : t('shell:save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A day of this place's calendar, as date fields write it. */
const toDateText = (seconds: number): string => new Date(seconds * 1000).toLocaleDateString('sv-SE');
const toEndOfDay = (day: string): number => Math.floor(new Date(`${day}T23:59:59`).getTime() / 1000);
