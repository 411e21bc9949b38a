import { Button, Collapse, Group, NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../parts/failure.tsx';
import type { ChannelDraft } from './channel-draft.ts';
import { CredentialFields } from './credential-fields.tsx';
import { ModelsField } from './models-field.tsx';
import { looksPrivate, VENDOR_FORMS } from './vendors.ts';

interface ChannelFormProps {
  readonly start: ChannelDraft;
  readonly isNew: boolean;
  readonly action: string;
  readonly save: (draft: ChannelDraft) => Promise<void>;
}

/** Everything there is to say of an upstream account; what most never change is folded away. */
export function ChannelForm({ start, isNew, action, save }: ChannelFormProps) {
  const { t } = useTranslation(['upstreams', 'shell']);
  const [draft, setDraft] = useState(start);
  const set = (part: Partial<ChannelDraft>): void => setDraft((known) => ({ ...known, ...part }));
  const [more, { toggle }] = useDisclosure(!isNew);
  const sending = useMutation({ mutationFn: () => save(draft) });
  const isPrivate = draft.options.private === true;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        sending.mutate();
      }}
    >
      <Stack>
        <TextInput
          label={t('channels.name')}
          description={t('channels.nameHint')}
          maxLength={100}
          required
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <CredentialFields draft={draft} isNew={isNew} onChange={set} />
        <ModelsField vendor={draft.vendor} value={draft.models} onChange={(models) => set({ models })} isNew={isNew} />
        <div>
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            onClick={toggle}
            aria-expanded={more}
            rightSection={<IconChevronDown size={14} style={{ transform: more ? 'rotate(180deg)' : 'none' }} />}
          >
            {t('channels.advanced')}
          </Button>
        </div>
        <Collapse expanded={more}>
          <Stack>
            <TextInput
              label={t('channels.baseUrl')}
              description={t('channels.baseUrlHint')}
              placeholder={VENDOR_FORMS[draft.vendor].baseUrl}
              type="url"
              value={draft.baseUrl}
              onChange={(event) => set({ baseUrl: event.currentTarget.value })}
            />
            {isPrivate || looksPrivate(draft.baseUrl) ? (
              <Switch
                label={t('channels.private')}
                description={t('channels.privateHint')}
                checked={isPrivate}
                onChange={(event) => set({ options: { ...draft.options, private: event.currentTarget.checked } })}
              />
            ) : null}
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <NumberInput
                label={t('channels.priority')}
                description={t('channels.priorityHint')}
                min={-1_000_000}
                max={1_000_000}
                allowDecimal={false}
                value={draft.priority}
                onChange={(priority) => set({ priority })}
              />
              <NumberInput
                label={t('channels.weight')}
                description={t('channels.weightHint')}
                min={0}
                max={1_000_000}
                allowDecimal={false}
                value={draft.weight}
                onChange={(weight) => set({ weight })}
              />
            </SimpleGrid>
          </Stack>
        </Collapse>
        <Switch
          label={t('channels.enabled')}
          description={t('channels.enabledHint')}
          checked={draft.enabled}
          onChange={(event) => set({ enabled: event.currentTarget.checked })}
        />
        <Failure error={sending.error instanceof SyntaxError ? new Error(t('channels.noJson')) : sending.error} />
        <Group justify="flex-end">
          <Button type="submit" loading={sending.isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
