"""Invoked by the operator: make a company with its default user and a first key, or a new key of a company."""

from typing import Any

from tenancy import companies
from tenancy.companies import NewKey
from tenancy.models import CompanyName, Input, parse


class Bootstrap(Input):
    company: CompanyName
    new_key: bool = False


def handler(event: dict[str, Any], context: object) -> NewKey:
    asked = parse(Bootstrap, event)
    return companies.add_key(asked.company) if asked.new_key else companies.create(asked.company)
