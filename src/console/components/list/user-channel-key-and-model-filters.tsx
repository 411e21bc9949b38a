import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListUsers } from '../../../contract/admin-accounts.ts';
import { apiKeysQuery } from '../../data/api-key-queries.ts';
import { listQuery } from '../../data/query-any-admin-endpoint.ts';
import { usableModelsQuery } from '../../data/usable-models-query.ts';
import { useChannels, useUserNames } from '../../data/user-and-channel-names.ts';
import { ChoiceFilter } from './filter-bar-and-fields.tsx';
import type { ListFilters } from './use-list-filters.ts';

interface EntityFilterProps {
  readonly filters: ListFilters;
}

const MAX_RESULTS = 20;
const DEBOUNCE_MS = 250;

interface UserFilterProps extends EntityFilterProps {
  /** Of the filter in the address. */
  readonly name?: string;
  readonly label?: string;
}

/** A user by name or e-mail; the address keeps the id. */
export function UserFilter({ filters, name: filter = 'user_id', label }: UserFilterProps) {
  const { t } = useTranslation('list');
  const [search, setSearch] = useState('');
  const [debounced] = useDebouncedValue(search, DEBOUNCE_MS);
  const id = filters.value[filter];
  const name = useUserNames(id === undefined ? [] : [Number(id)]);
  const users = useQuery({
    ...listQuery(adminListUsers, { page_size: String(MAX_RESULTS), q: debounced === '' ? undefined : debounced }),
    placeholderData: keepPreviousData,
  });
  const found = (users.data?.data ?? []).map((user) => ({ value: String(user.id), label: user.username }));
  const selected = id === undefined ? [] : [{ value: id, label: name(Number(id)) ?? `#${id}` }];
  return (
    <Select
      aria-label={label ?? t('user')}
      placeholder={label ?? t('user')}
      w={{ base: '100%', xs: 170 }}
      data={[...selected, ...found.filter(({ value }) => value !== id)]}
      // The service searches; e-mail addresses are not among the labels.
      filter={({ options }) => options}
      value={id ?? null}
      onChange={(value) => filters.set(filter, value ?? undefined)}
      onSearchChange={(text) => setSearch(selected.some(({ label }) => label === text) ? '' : text)}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': label ?? t('user'), tabIndex: -1 }}
    />
  );
}

/** A channel by name. */
export function ChannelFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const channels = useChannels();
  return (
    <ChoiceFilter
      filters={filters}
      name="channel_id"
      label={t('channel')}
      choices={withSelected(
        channels.map(({ id, name }) => ({ value: String(id), label: name })),
        filters.value.channel_id,
      )}
    />
  );
}

/** One of the own API keys by name. */
export function ApiKeyFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const keys = useQuery(apiKeysQuery(1));
  const choices = (keys.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  return (
    <ChoiceFilter
      filters={filters}
      name="token_id"
      label={t('apiKey')}
      choices={withSelected(choices, filters.value.token_id)}
    />
  );
}

/** A model this account can call; older ones come by links. */
export function ModelFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const models = useQuery(usableModelsQuery);
  const choices = (models.data ?? []).map(({ id }) => ({ value: id, label: id }));
  return (
    <ChoiceFilter
      filters={filters}
      name="model"
      label={t('model')}
      width={190}
      choices={withSelected(choices, filters.value.model)}
    />
  );
}

/** What a link selects is shown also where it is no choice any more. */
const withSelected = (
  choices: readonly { readonly value: string; readonly label: string }[],
  selected: string | undefined,
) =>
  selected === undefined || choices.some(({ value }) => value === selected)
    ? choices
    : [{ value: selected, label: /^\d+$/.test(selected) ? `#${selected}` : selected }, ...choices];
