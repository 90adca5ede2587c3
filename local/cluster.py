"""What services need to run on: a cluster of the emulator's ECS, and the API's address as it is on this machine.

The emulator counts tasks and runs none. It asks for no network, so the subnet and the security group are mere names.
"""

from local.stack import Stack

NAME = "naive-local"
PARAMETERS = (f"EcsCluster={NAME}", "SubnetIds=subnet-local", "SecurityGroupIds=sg-local")
"""What an operator says at a deployment on AWS."""
BASE_URL = "/naive/local/services/base-url"


def sync(stack: Stack, base_url: str) -> None:
    """Makes the cluster, and corrects where tasks find the API: the template knows the address on AWS alone."""
    stack.client("ecs").create_cluster(clusterName=NAME)
    stack.client("ssm").put_parameter(Name=BASE_URL, Value=base_url, Type="String", Overwrite=True)
