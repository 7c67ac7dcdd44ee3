-- Who holds an address is asked whenever a token names one: at the provider that vouches for it, by the spelling that is compared.
create index users_of_address on users (oidc_issuer, lower(email collate "C")) where email is not null;
