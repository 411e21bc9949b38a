import { Button, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch, IconStar, IconStarFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { TASK_STATUS } from '../../../contract/task-states.ts';
import { usableModelsQuery } from '../../data/usable-models-query.ts';
import { hasFilters, type VideosSearchParams } from './videos-search-params.ts';

const STATUS_CHOICES = [TASK_STATUS.SUCCESS, TASK_STATUS.IN_PROGRESS, TASK_STATUS.QUEUED, TASK_STATUS.FAILURE] as const;

interface VideoFiltersProps {
  readonly search: VideosSearchParams;
  readonly set: (part: VideosSearchParams) => void;
}

/** What narrows the list of own videos. */
export function VideoFilters({ search, set }: VideoFiltersProps) {
  const { t } = useTranslation('studio');
  const { status, model, from, to, favourite } = search;
  const models = useQuery(usableModelsQuery);
  return (
    <Group mb="lg" gap="sm" align="flex-end" className="filters" role="search">
      <PromptSearch value={search.q ?? ''} onChange={(q) => set({ q: q === '' ? undefined : q })} />
      <Select
        label={t('filterStatus')}
        w={130}
        placeholder={t('anyStatus')}
        clearable
        data={STATUS_CHOICES.map((value) => ({ value, label: t(`stage.${value}`) }))}
        value={status ?? null}
        onChange={(value) => set({ status: value ?? undefined })}
      />
      <Select
        label={t('filterModel')}
        w={160}
        placeholder={t('anyModel')}
        clearable
        searchable
        data={(models.data ?? []).filter(({ kind }) => kind === 'video').map(({ id }) => id)}
        value={model ?? null}
        onChange={(value) => set({ model: value ?? undefined })}
      />
      <TextInput
        type="date"
        label={t('filterFrom')}
        value={from ?? ''}
        onChange={(event) => set({ from: event.currentTarget.value || undefined })}
      />
      <TextInput
        type="date"
        label={t('filterTo')}
        value={to ?? ''}
        onChange={(event) => set({ to: event.currentTarget.value || undefined })}
      />
      <Button
        variant={favourite ? 'light' : 'default'}
        aria-pressed={favourite === true}
        leftSection={favourite ? <IconStarFilled size={15} /> : <IconStar size={15} />}
        onClick={() => set({ favourite: favourite ? undefined : true })}
      >
        {t('favourites')}
      </Button>
      {hasFilters(search) ? (
        <Button
          variant="subtle"
          color="gray"
          onClick={() =>
            set({
              q: undefined,
              status: undefined,
              model: undefined,
              from: undefined,
              to: undefined,
              favourite: undefined,
            })
          }
        >
          {t('clearFilters')}
        </Button>
      ) : null}
    </Group>
  );
}

/** Searches after a short pause, not on every keystroke. */
function PromptSearch({ value, onChange }: { readonly value: string; readonly onChange: (words: string) => void }) {
  const { t } = useTranslation('studio');
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const apply = useDebouncedCallback((next: string) => onChange(next.trim()), 300);
  return (
    <TextInput
      label={t('prompt')}
      type="search"
      w={180}
      maxLength={200}
      placeholder={t('searchPlaceholder')}
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next);
        apply(next);
      }}
    />
  );
}
