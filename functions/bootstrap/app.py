"""Invoked by the operator: make a company with its default user and a first key, or a new key of a company."""

from typing import Any

from tenancy import companies
from tenancy.companies import FirstKey
from tenancy.models import CompanyName, Input, parse
from tenancy.telemetry import audit, unrequested


class Bootstrap(Input):
    company: CompanyName
    new_key: bool = False


@unrequested
def handler(event: dict[str, Any], context: object) -> FirstKey:
    asked = parse(Bootstrap, event)
    made = companies.add_key(asked.company) if asked.new_key else companies.create(asked.company)
    audit(company=made["company_id"], user=made["user_id"], key_id=made["key_id"], resource=made["company_id"])
    return made
